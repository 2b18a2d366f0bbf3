import numpy as np
import numpy.ma as ma

def causal_mask(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    return ~np.triu(np.ones((t_q, t_k), dtype=bool), t_k - t_q + 1)

def padding_mask(tokens, pad_id):
    tokens[tokens == pad_id] = -1
    real = tokens != -1
    return real[..., None, :]

def additive_mask(mask):
    return ma.array(np.zeros(mask.shape), mask=np.logical_not(mask)).filled(-np.inf)

def apply_mask(scores, mask):
    hidden = np.broadcast_to(np.logical_not(mask), scores.shape)
    return ma.array(scores, mask=hidden, copy=True).filled(-np.inf)
