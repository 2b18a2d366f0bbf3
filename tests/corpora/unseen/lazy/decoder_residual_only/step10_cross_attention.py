import numpy as np

def shift_right(tokens, start_id):
    return tokens.copy()

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return np.zeros(x.shape)
