import numpy as np

from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads


def shift_right(tokens, start_id):
    first = np.full(tokens[..., :1].shape, start_id)
    return np.concatenate([tokens[..., 1:], first], axis=-1)


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    q = split_heads(x @ params["w_q"] + params["b_q"], n_heads)
    k = split_heads(memory @ params["w_k"] + params["b_k"], n_heads)
    v = split_heads(memory @ params["w_v"] + params["b_v"], n_heads)
    if memory_mask is not None and memory_mask.ndim > 1:
        memory_mask = memory_mask[..., None, :, :]
    return merge_heads(attention(q, k, v, memory_mask)) @ params["w_o"] + params["b_o"]
