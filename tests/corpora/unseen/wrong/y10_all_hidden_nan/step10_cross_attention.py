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
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k = split_heads(linear(memory, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(memory, params["w_v"], params["b_v"]), n_heads)
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if memory_mask is not None:
        m = memory_mask if np.ndim(memory_mask) < 3 else np.expand_dims(memory_mask, -3)
        s = np.where(m, s, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return linear(merge_heads(e / e.sum(-1, keepdims=True) @ v), params["w_o"], params["b_o"])
