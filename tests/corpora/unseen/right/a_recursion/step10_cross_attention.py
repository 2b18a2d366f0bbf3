import numpy as np
from exercises.step05_output import attention


def shift_right(tokens, start_id):
    if tokens.ndim > 1:
        return np.array([shift_right(t, start_id) for t in tokens])
    return np.array([start_id, *tokens[:-1]], dtype=tokens.dtype)


def _heads(q, k, v, n_heads, mask):
    """one head off the front, the rest by recursion"""
    d = q.shape[-1] // n_heads
    first = attention(q[..., :d], k[..., :d], v[..., :d], mask)
    if n_heads == 1:
        return [first]
    return [first] + _heads(q[..., d:], k[..., d:], v[..., d:], n_heads - 1, mask)


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    if x.shape[-1] % n_heads:
        raise ValueError("n_heads")
    q = x @ params["w_q"] + params["b_q"]
    k = memory @ params["w_k"] + params["b_k"]
    v = memory @ params["w_v"] + params["b_v"]
    return np.concatenate(_heads(q, k, v, n_heads, memory_mask), axis=-1) @ params["w_o"] + params["b_o"]
