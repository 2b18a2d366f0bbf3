import numpy as np
from exercises.step09_heads import MultiHead

def shift_right(tokens, start_id):
    start = np.full(tokens.shape[:-1] + (1,), start_id, dtype=np.int64)
    return np.concatenate([start, tokens[..., :-1].astype(np.int64)], axis=-1)

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return MultiHead(params, n_heads)(x, memory, memory_mask)
