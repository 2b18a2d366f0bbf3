import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads


def shift_right(tokens, start_id):
    shifted = np.roll(tokens, 1, axis=-1)
    shifted[0] = start_id
    return shifted


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k = split_heads(linear(memory, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(memory, params["w_v"], params["b_v"]), n_heads)
    if memory_mask is not None:
        memory_mask = np.asarray(memory_mask)
        if memory_mask.ndim > 2:
            memory_mask = memory_mask[..., None, :, :]
    return linear(merge_heads(attention(q, k, v, memory_mask)), params["w_o"], params["b_o"])
