import numpy as np

def shift_right(tokens, start_id):
    return np.ones(tokens.shape, int)

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return np.ones(x.shape)
