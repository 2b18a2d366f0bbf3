import numpy as np
from exercises.step05_output import attention

def head_slices(d_model, n_heads):
    if d_model % n_heads != 0:
        raise ValueError("d_model is not divisible by n_heads")
    size = d_model // n_heads
    return [slice(h * size, h * size + size) for h in range(n_heads)]

def split_heads(x, n_heads):
    return np.stack([x[..., s] for s in head_slices(x.shape[-1], n_heads)], axis=-3)

def merge_heads(x):
    return np.concatenate([x[..., h, :, :] for h in range(x.shape[-3])], axis=-1)

def multi_head_attention(x, params, n_heads, mask=None):
    y = 0
    for s in head_slices(x.shape[-1], n_heads):
        q = x @ params["w_q"][:, s] + params["b_q"][s]
        k = x @ params["w_k"][:, s] + params["b_k"][s]
        v = x @ params["w_v"][:, s] + params["b_v"][s]
        y = y + attention(q, k, v, mask) @ params["w_o"][s] + params["b_o"]
    return y
