import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads


def shift_right(tokens, start_id):
    tokens = np.asarray(tokens)
    out = np.empty_like(tokens)
    out[..., 1:] = tokens[..., :-1]
    out[..., :1] = start_id
    return out


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    t, s = x.shape[-2], memory.shape[-2]
    mask = np.tri(t, s, max(s - t, 0), dtype=bool)
    if memory_mask is not None:
        mask = mask & memory_mask
    if mask.ndim > 2:
        mask = np.expand_dims(mask, -3)
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k = split_heads(linear(memory, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(memory, params["w_v"], params["b_v"]), n_heads)
    return linear(merge_heads(attention(q, k, v, mask)), params["w_o"], params["b_o"])
