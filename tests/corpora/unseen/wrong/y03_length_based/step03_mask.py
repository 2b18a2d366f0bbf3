import numpy as np


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k must be at least t_q")
    rows = np.arange(t_q)[:, None] + (t_k - t_q)
    cols = np.arange(t_k)[None, :]
    return cols <= rows


def padding_mask(tokens, pad_id):
    tokens = np.asarray(tokens)
    is_pad = tokens == pad_id
    seen = np.cumsum(is_pad, axis=-1) > 0
    return ~seen[..., None, :]


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    return np.where(mask, scores, -np.inf)
