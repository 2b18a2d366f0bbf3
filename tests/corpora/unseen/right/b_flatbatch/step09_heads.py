import numpy as np

from exercises.step05_output import attention


def split_heads(x, n_heads):
    T, d = x.shape[-2:]
    if d % n_heads != 0:
        raise ValueError("d_model % n_heads")
    y = x.reshape(-1, T, n_heads, d // n_heads).transpose(0, 2, 1, 3)
    return y.reshape(x.shape[:-2] + y.shape[1:])


def merge_heads(x):
    h, T, d = x.shape[-3:]
    return x.reshape(-1, h, T, d).transpose(0, 2, 1, 3).reshape(x.shape[:-3] + (T, h * d))


def multi_head_attention(x, params, n_heads, mask=None):
    T, d = x.shape[-2:]
    x3 = x.reshape(-1, T, d)
    q, k, v = (split_heads(x3 @ params["w_" + c] + params["b_" + c], n_heads) for c in ("q", "k", "v"))
    if mask is not None:
        mask = np.broadcast_to(mask, x.shape[:-2] + (T, T)).reshape(-1, 1, T, T)
    y = merge_heads(attention(q, k, v, mask)) @ params["w_o"] + params["b_o"]
    return y.reshape(x.shape)
