import numpy as np
from exercises.step05_output import masked_self_attention


def shift_tokens(tokens):
    T = tokens.shape[-1]
    if T < 2:
        raise ValueError("tokens: need two or more")
    return (tokens.take(range(0, T - 1), axis=-1), tokens.take(range(1, T), axis=-1))


def log_softmax(logits):
    z = np.array(logits, float)
    z -= z.max(-1)[..., np.newaxis]
    z -= np.log(np.exp(z).sum(-1))[..., np.newaxis]
    return z


def _picked(logits, targets):
    lp = log_softmax(logits)
    V = lp.shape[-1]
    flat = np.arange(targets.size) * V + targets.ravel()
    return lp.ravel().take(flat)


def cross_entropy(logits, targets, ignore_id=None):
    targets = np.array(targets)
    n = targets.size
    w = np.ones(n)
    if ignore_id is not None:
        out = targets == ignore_id
        np.putmask(w, out.ravel(), 0.0)
        np.putmask(targets, out, 0)
    total = w.sum()
    if total == 0:
        raise ValueError("targets: all ignored")
    p = _picked(logits, targets)
    return float(-p.compress(w > 0).sum() / total)


def sequence_log_prob(logits, targets):
    return _picked(logits, targets).reshape(targets.shape).sum(-1)


def next_token_logits(tokens, params):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens: text too long")
    x = params["embedding"].take(tokens, axis=0)
    x = x + params["position"][:T]
    y = masked_self_attention(x, params["w_q"], params["w_k"], params["w_v"])
    return np.dot(y, params["w_out"])


def teacher_forced_loss(tokens, params):
    inputs, targets = shift_tokens(tokens)
    return cross_entropy(next_token_logits(inputs, params), targets)
