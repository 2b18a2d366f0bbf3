import numpy as np
from exercises.step09_heads import algebra

def shift_right(tokens, start_id):
    out = np.full(tokens.shape, start_id, dtype=np.int64)
    out[..., 1:] = tokens[..., :-1]
    return out

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return algebra(x, memory, params, n_heads, memory_mask)
