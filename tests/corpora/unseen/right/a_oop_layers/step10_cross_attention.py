import numpy as np
from exercises.step09_heads import MultiHead


def shift_right(tokens, start_id):
    shifted = np.roll(tokens, 1, axis=-1)
    shifted[..., 0] = start_id
    return shifted


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return MultiHead(params, n_heads)(x, memory, memory_mask)
