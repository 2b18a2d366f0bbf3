import numpy as np
from exercises.step09_heads import _attend

def shift_right(tokens, start_id):
    T = tokens.shape[-1]
    shifted = np.einsum("...s,ts->...t", tokens.astype(np.int64), np.eye(T, k=-1, dtype=np.int64))
    return shifted + start_id * (np.arange(T) == 0)

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return _attend(x, memory, params, n_heads, memory_mask)
