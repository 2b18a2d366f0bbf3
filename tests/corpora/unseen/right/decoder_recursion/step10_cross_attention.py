import numpy as np
from exercises.step09_heads import attend

def shift_right(tokens, start_id):
    first = np.full_like(tokens[..., :1], 0, dtype=np.int64) + int(start_id)
    return np.concatenate((first, tokens[..., :-1].astype(np.int64)), axis=-1)

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return attend(params, n_heads)(x, memory, memory_mask)
