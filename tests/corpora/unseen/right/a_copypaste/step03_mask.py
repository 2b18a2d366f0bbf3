import numpy as np
def causal_mask(t_q, t_k=None):
    if t_k is None: t_k = t_q
    if t_k < t_q: raise ValueError("t_k must be at least t_q")
    return np.arange(t_k)[None, :] <= (np.arange(t_q) + t_k - t_q)[:, None]
def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[..., None, :]
def additive_mask(mask):
    return np.where(mask, 0.0, float("-inf"))
def apply_mask(scores, mask):
    return np.where(mask, scores, float("-inf"))
