"""Masks from index arithmetic."""
import numpy as np


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    elif t_k < t_q:
        raise ValueError("t_k must not be smaller than t_q")
    # distance from query position to key position; negative = the future
    distance = np.subtract.outer(np.arange(t_q) + (t_k - t_q), np.arange(t_k))
    return distance >= 0


def padding_mask(tokens, pad_id):
    return np.bitwise_not(np.equal(tokens, pad_id)).reshape(*tokens.shape[:-1], 1, tokens.shape[-1])


def additive_mask(mask):
    return (1 - mask.astype(float)) * -np.inf


def apply_mask(scores, mask):
    out = scores.astype(np.float64)
    where = np.indices(scores.shape)
    hidden = ~np.broadcast_to(mask, scores.shape)
    out[tuple(axis[hidden] for axis in where)] = -np.inf
    return out
