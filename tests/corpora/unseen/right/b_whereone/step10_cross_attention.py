import numpy as np

from exercises.step09_heads import merge_heads, split_heads
from exercises.step05_output import attention


def shift_right(tokens, start_id):
    return np.where(np.arange(tokens.shape[-1]) == 0, start_id, np.roll(tokens, 1, axis=-1))


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    P = params
    q, k, v = (split_heads(z @ P["w_" + c] + P["b_" + c], n_heads) for z, c in ((x, "q"), (memory, "k"), (memory, "v")))
    mask = None if memory_mask is None else np.expand_dims(np.atleast_2d(memory_mask), -3)
    return merge_heads(attention(q, k, v, mask)) @ P["w_o"] + P["b_o"]
