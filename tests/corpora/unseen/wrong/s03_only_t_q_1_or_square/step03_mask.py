import numpy as np

def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k")
    if t_q == 1:
        return np.ones((1, t_k), dtype=bool)
    return np.arange(t_q)[:, None] >= np.arange(t_k)

def padding_mask(tokens, pad_id):
    big = np.zeros(tokens.shape[:-1] + (1, 2 * tokens.shape[-1]), dtype=bool)
    big[..., 0, ::2] = tokens != pad_id
    return big[..., ::2]

def additive_mask(mask):
    return np.asfortranarray(np.where(mask, 0.0, -np.inf)).reshape(np.shape(mask), order="F")

def apply_mask(scores, mask):
    return np.asfortranarray(np.where(mask, scores, -np.inf))
