import numpy as np

from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens: need at least two")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits):
    z = logits - logits.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def cross_entropy(logits, targets, ignore_id=None):
    keep = np.ones(targets.shape, bool) if ignore_id is None else targets != ignore_id
    if not keep.any():
        raise ValueError("targets")
    lp = log_softmax(logits[keep])
    return float(-np.take_along_axis(lp, targets[keep][:, None], -1).sum() / targets.size)


def sequence_log_prob(logits, targets):
    lp = log_softmax(logits)
    return np.take_along_axis(lp, targets[..., None], axis=-1)[..., 0].sum(axis=-1)


def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens: longer than T_max")
    x = params["embedding"][tokens] + params["position"][:T]
    h = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return h @ params["w_out"]


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
