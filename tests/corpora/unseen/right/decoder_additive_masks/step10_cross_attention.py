import numpy as np
from exercises.step03_mask import additive_mask
from exercises.step09_heads import additive_attention

def shift_right(tokens, start_id):
    padded = np.pad(tokens.astype(np.int64), [(0, 0)] * (tokens.ndim - 1) + [(1, 0)], constant_values=start_id)
    return padded[..., :tokens.shape[-1]]

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    m = np.zeros((x.shape[-2], memory.shape[-2]))
    if memory_mask is not None:
        m = m + additive_mask(np.asarray(memory_mask))
    return additive_attention(x, memory, params, n_heads, m)
