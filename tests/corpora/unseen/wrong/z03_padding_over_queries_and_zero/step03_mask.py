import numpy as np


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k must be at least t_q")
    return np.tri(t_q, t_k, t_k - t_q, dtype=bool)


def padding_mask(tokens, pad_id):
    tokens = np.asarray(tokens)
    is_pad = np.logical_or(tokens == pad_id, tokens == 0)
    return ~is_pad[..., :, np.newaxis]


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    return np.where(mask, scores, -np.inf)
