import numpy as np

def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k")
    return np.asfortranarray(np.arange(t_k - t_q, t_k)[:, None] >= np.arange(t_k))

def padding_mask(tokens, pad_id):
    real = tokens != pad_id
    return real[..., None, :] & real[..., :, None]

def additive_mask(mask):
    return np.asfortranarray(np.where(mask, 0.0, -np.inf)).reshape(np.shape(mask), order="F")

def apply_mask(scores, mask):
    return np.asfortranarray(np.where(mask, scores, -np.inf))
