import numpy as np


_seen = {}


def causal_mask(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    if t_q not in _seen:
        _seen[t_q] = np.tri(t_q, t_k, t_k - t_q, dtype=bool)
    return _seen[t_q]


def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[..., None, :]


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    return np.where(mask, scores, -np.inf)
