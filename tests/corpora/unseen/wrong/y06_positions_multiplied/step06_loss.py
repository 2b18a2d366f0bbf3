import numpy as np

from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    tokens = np.asarray(tokens)
    if tokens.shape[-1] < 2:
        raise ValueError("need at least two tokens")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits):
    z = logits - logits.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def cross_entropy(logits, targets, ignore_id=None):
    targets = np.asarray(targets)
    keep = np.ones(targets.shape, bool) if ignore_id is None else targets != ignore_id
    n = keep.sum()
    if n == 0:
        raise ValueError("all targets are ignored")
    safe = np.where(keep, targets, 0)
    logp = np.take_along_axis(log_softmax(logits), safe[..., None], axis=-1)[..., 0]
    return float(-(np.where(keep, logp, 0.0).sum()) / n)


def sequence_log_prob(logits, targets):
    logp = np.take_along_axis(log_softmax(logits), targets[..., None], axis=-1)[..., 0]
    return logp.sum(axis=-1)


def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > len(params["position"]):
        raise ValueError("T_max")
    h = params["embedding"][tokens] * params["position"][:T]
    h = masked_self_attention(h, params["w_q"], params["w_k"], params["w_v"])
    return h @ params["w_out"]


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
