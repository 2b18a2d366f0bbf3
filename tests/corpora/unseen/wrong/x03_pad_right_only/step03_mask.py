import numpy as np


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k is smaller than t_q")
    rows = np.arange(t_q)[:, None] + (t_k - t_q)
    return np.arange(t_k)[None, :] <= rows


def padding_mask(tokens, pad_id):
    tokens = np.asarray(tokens)
    real = tokens != pad_id
    after = np.flip(np.maximum.accumulate(np.flip(real, -1), axis=-1), -1)
    return after[..., None, :]


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    return np.where(mask, scores, -np.inf)
