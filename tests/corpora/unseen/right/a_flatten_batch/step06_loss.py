import numpy as np
from exercises.batching import back, flat
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    if tokens.shape[-1] < 2:
        raise ValueError("tokens")
    return tokens[..., :-1], tokens[..., 1:]


def log_softmax(logits):
    z = flat(logits, 1)
    z = z - z.max(axis=1, keepdims=True)
    z = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return back(z, logits.shape[:-1])


def _pick(logits, targets):
    z, t = flat(log_softmax(logits), 1), targets.reshape(-1)
    return z[np.arange(t.size), t]


def cross_entropy(logits, targets, ignore_id=None):
    z, t = flat(logits, 1), targets.reshape(-1)
    if ignore_id is not None:
        rows = np.flatnonzero(t != ignore_id)
        z, t = z[rows], t[rows]
    if len(t) == 0:
        raise ValueError("targets")
    return float(-_pick(z, t).sum() / len(t))


def sequence_log_prob(logits, targets):
    return _pick(logits, targets).reshape(targets.shape).sum(axis=-1)


def next_token_logits(tokens, params):
    t = flat(tokens, 1)
    n = t.shape[1]
    if n > params["position"].shape[0]:
        raise ValueError("tokens")
    x = params["embedding"][t] + params["position"][:n]
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"]) @ params["w_out"]
    return back(y, tokens.shape[:-1])


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
