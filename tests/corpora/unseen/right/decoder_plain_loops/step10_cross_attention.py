import numpy as np
from exercises.step09_heads import heads_of

def shift_right(tokens, start_id):
    out = np.zeros(tokens.shape, dtype=np.int64)
    for where in np.ndindex(*tokens.shape):
        t = where[-1]
        out[where] = start_id if t == 0 else tokens[where[:-1] + (t - 1,)]
    return out

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return heads_of(x, memory, params, n_heads, memory_mask)
