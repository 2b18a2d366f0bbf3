import numpy as np
from exercises.step09_heads import heads_einsum


def shift_right(tokens, start_id):
    return np.insert(tokens[..., :-1], 0, start_id, axis=-1)


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return heads_einsum(x, memory, params, n_heads, memory_mask)
