import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads


def shift_right(tokens, start_id):
    out = np.empty_like(tokens)
    out[..., 0] = start_id
    out[..., 1:] = tokens[..., :-1]
    return out


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k = split_heads(linear(memory, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(memory, params["w_v"], params["b_v"]), n_heads)
    e = np.exp(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]))
    if memory_mask is not None:
        e = e * np.atleast_2d(memory_mask)[..., None, :, :]
    total = e.sum(axis=-1, keepdims=True)
    return linear(merge_heads(e / np.where(total == 0, 1, total) @ v), params["w_o"], params["b_o"])
