import numpy as np


def causal_mask(t_q, t_k=None):
    t_k = t_k or t_q
    if t_k < t_q:
        raise ValueError("t_k")
    return np.tri(t_q, t_k, t_k - t_q, dtype=bool)


def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[..., None, :]


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    return np.where(mask, scores, -np.inf)
