import numpy as np
from exercises.step09_heads import attend_heads


def shift_right(tokens, start_id):
    *batch, t = tokens.shape
    start = np.broadcast_to(np.asarray(start_id, tokens.dtype), (*batch, 1))
    return np.concatenate((start, tokens), axis=-1)[..., :t]


def cross_attention(x, memory, *args, memory_mask=None, **kwargs):
    if len(args) == 3:
        *args, memory_mask = args
    return attend_heads(*args, mask=memory_mask, q=x, k=memory, v=memory, **kwargs)
