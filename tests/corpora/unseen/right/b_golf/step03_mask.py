import numpy as np; I = np.inf; A = np.arange
def causal_mask(t_q, t_k=None):
    n = t_q if t_k is None else t_k
    if n < t_q: raise ValueError("t_k")
    return A(n) <= A(n - t_q, n)[:, None]
def padding_mask(tokens, pad_id): return tokens[..., None, :] != pad_id
def additive_mask(mask): return np.where(mask, 0, -I)
def apply_mask(scores, mask): return np.where(mask, scores, -I)
