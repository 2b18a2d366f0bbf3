import numpy as np
from exercises.step09_heads import project_kv, sum_of_heads


def shift_right(tokens, start_id):
    first = np.zeros_like(tokens[..., :1]) + start_id
    return np.concatenate([first, tokens[..., :-1]], axis=-1)


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    return sum_of_heads(x, params, n_heads, lambda h, s: project_kv(memory, params, s), memory_mask)
