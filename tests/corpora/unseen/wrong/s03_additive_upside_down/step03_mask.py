import numpy as np


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k is too small")
    out = np.zeros((t_q, t_k), dtype=bool)
    for row in range(t_q):
        out[row, : t_k - t_q + row + 1] = True
    return out


def padding_mask(tokens, pad_id):
    out = np.ones(tokens.shape[:-1] + (1,) + tokens.shape[-1:], dtype=bool)
    out[..., 0, :][tokens == pad_id] = False
    return out


def additive_mask(mask):
    out = np.full(mask.shape, -np.inf)
    out[~mask] = 0.0
    return out


def apply_mask(scores, mask):
    out = np.full_like(scores, -np.inf)
    allowed = np.empty(scores.shape, dtype=bool)
    allowed[...] = mask
    out[allowed] = scores[allowed]
    return out
