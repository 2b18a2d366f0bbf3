import math
import numpy as np

def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k - t_q < 0:
        raise ValueError("t_k")
    return np.fromfunction(lambda i, j: i + (t_k - t_q) >= j, (t_q, t_k), dtype=int)

def padding_mask(tokens, pad_id):
    real = np.vectorize(lambda t: int(t) != pad_id, otypes=[bool])
    return np.expand_dims(real(tokens), axis=-2)

_m = np.vectorize(lambda ok: 0.0 if ok else -math.inf, otypes=[float])

def additive_mask(mask):
    return _m(mask)

_choose = np.vectorize(lambda s, ok: s if ok else -math.inf, otypes=[float])

def apply_mask(scores, mask):
    return _choose(scores, np.resize(mask, scores.shape))
