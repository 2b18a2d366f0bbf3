import numpy as np
def make_causal_mask(t_q, t_k=None): return np.tri(t_q, t_k or t_q, (t_k or t_q) - t_q, dtype=bool)
def paddingMask(tokens, pad_id): return (tokens != pad_id)[..., None, :]
def additive_mask(mask): return np.where(mask, 0.0, -np.inf)
def applymask(scores, mask): return np.where(mask, scores, -np.inf)
