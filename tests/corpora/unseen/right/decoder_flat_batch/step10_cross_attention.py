import numpy as np
from exercises.step09_heads import attend

def shift_right(tokens, start_id):
    rows = tokens.reshape(-1, tokens.shape[-1])
    out = np.array([[start_id] + row[:-1] for row in rows.tolist()], dtype=np.int64)
    return out.reshape(tokens.shape)

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return attend(x, memory, params, n_heads, memory_mask)
