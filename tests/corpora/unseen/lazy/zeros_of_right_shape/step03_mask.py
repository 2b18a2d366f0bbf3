import numpy as np
def causal_mask(t_q, t_k=None): return np.zeros((t_q, t_k or t_q), bool)
def padding_mask(tokens, pad_id): return np.zeros(tokens.shape[:-1] + (1, tokens.shape[-1]), bool)
def additive_mask(mask): return np.zeros(mask.shape)
def apply_mask(scores, mask): return np.zeros(scores.shape)
