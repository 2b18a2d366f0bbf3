import numpy as np


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k must be at least t_q")
    return np.tri(t_q, t_k, t_k - t_q, dtype=bool)


def padding_mask(tokens, pad_id):
    return (np.asarray(tokens) != pad_id)[..., None, :]


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    scores = np.asarray(scores, dtype=float)
    min_value = np.finfo(scores.dtype).min
    masked_fill = np.full_like(scores, min_value)
    return np.where(mask, scores, masked_fill)
