import numpy as np

def causal_mask(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if not t_q <= t_k:
        raise ValueError(f"t_k={t_k} is smaller than t_q={t_q}")
    return np.tri(t_q, t_k, t_k - t_q, dtype=bool)

def padding_mask(tokens, pad_id):
    return np.expand_dims(np.not_equal(tokens, pad_id), -2)

def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)

def apply_mask(scores, mask):
    return np.where(mask, scores, -np.inf)
