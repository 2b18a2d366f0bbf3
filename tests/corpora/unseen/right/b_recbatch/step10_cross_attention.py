import numpy as np

from exercises.step05_output import attention


def shift_right(tokens, start_id):
    if tokens.ndim > 1:
        return np.stack([shift_right(row, start_id) for row in tokens])
    return np.array([start_id] + tokens.tolist()[:-1], dtype=tokens.dtype)


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    if x.ndim > 2:
        shape = x.shape[:-1] + (memory.shape[-2],)
        masks = [None] * len(x) if memory_mask is None else np.broadcast_to(memory_mask, shape)
        return np.stack([cross_attention(a, b, params, n_heads, m) for a, b, m in zip(x, memory, masks)])
    d = x.shape[-1] // n_heads
    q = x @ params["w_q"] + params["b_q"]
    k = memory @ params["w_k"] + params["b_k"]
    v = memory @ params["w_v"] + params["b_v"]
    out = params["b_o"]
    for h in range(n_heads):
        s = slice(h * d, h * d + d)
        out = out + attention(q[:, s], k[:, s], v[:, s], memory_mask) @ params["w_o"][s]
    return out
