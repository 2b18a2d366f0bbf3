import numpy as np


_board = np.zeros((2048, 2048), dtype=bool)


def _triangle(t_q, t_k):
    m = _board[:t_q, :t_k]
    m[...] = np.tri(t_q, t_k, t_k - t_q, dtype=bool)
    return m


def causal_mask(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    return _triangle(int(t_q), int(t_k))


def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[..., None, :]


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    return np.where(mask, scores, -np.inf)
