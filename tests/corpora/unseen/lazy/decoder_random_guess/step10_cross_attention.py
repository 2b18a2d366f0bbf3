import numpy as np
rng = np.random.default_rng()

def shift_right(tokens, start_id):
    return rng.integers(0, 2, tokens.shape)

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return rng.normal(size=x.shape)
