import numpy as np

from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens: need at least two")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits):
    z = logits - np.max(logits, axis=-1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))


def cross_entropy(logits, targets, ignore_id=None):
    keep = np.ones(targets.shape, bool) if ignore_id is None else targets != ignore_id
    if not keep.any():
        raise ValueError("targets: all ignored")
    safe = np.where(keep, targets, 0)
    lp = np.take_along_axis(log_softmax(logits), safe[..., None], -1)[..., 0]
    return float(-lp[keep].mean())


def sequence_log_prob(logits, targets):
    lp = np.take_along_axis(log_softmax(logits), targets[..., None], -1)[..., 0]
    return lp.sum(axis=-1)


def next_token_logits(tokens, params):
    t = tokens.shape[-1]
    if t > params["position"].shape[0]:
        raise ValueError("tokens: too long")
    x = params["embedding"][tokens] + params["position"][:t]
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return np.matmul(y, params["w_out"])


def teacher_forced_loss(tokens, params):
    _, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(tokens, params)[..., :-1, :], targets)
