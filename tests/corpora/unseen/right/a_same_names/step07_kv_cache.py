import numpy as np


def causal_mask(n_old, n_new):
    """not that of step 3: how many are old, how many new"""
    return np.tri(n_new, n_old + n_new, n_old, dtype=bool)


def softmax(scores, mask):
    s = np.where(mask, scores, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q, pairs):
    """pairs: list of (k, v), oldest first; every query may see the old ones"""
    k = np.concatenate([p[0] for p in pairs], axis=-2)
    v = np.concatenate([p[1] for p in pairs], axis=-2)
    n = q.shape[-2]
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(s, causal_mask(k.shape[-2] - n, n)) @ v, (k, v)


def new_cache():
    return []


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    y, pair = attention(x_new @ w_q, cache + [(x_new @ w_k, x_new @ w_v)])
    return y, [pair]
