import numpy as np


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k must not be smaller than t_q")
    return np.tril(np.ones((t_q, t_k), dtype=bool), k=t_k - t_q)


def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[..., None, :]


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    out = scores.copy()
    out[..., ~mask] = -np.inf
    return out
