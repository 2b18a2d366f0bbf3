import numpy as np
from exercises.step05_output import attention


def split_heads(x, n_heads):
    """strides by hand"""
    d = x.shape[-1]
    if d % n_heads:
        raise ValueError("n_heads")
    size = d // n_heads
    s = x.strides
    return np.lib.stride_tricks.as_strided(x, x.shape[:-2] + (n_heads, x.shape[-2], size), s[:-2] + (size * s[-1], s[-2], s[-1]), writeable=False).copy()


def merge_heads(x):
    order = (*range(x.ndim - 3), x.ndim - 2, x.ndim - 3, x.ndim - 1)
    y = np.ascontiguousarray(np.transpose(x, order))
    y.shape = y.shape[:-2] + (y.shape[-2] * y.shape[-1],)
    return y


def multi_head_attention(x, params, n_heads, mask=None):
    q, k, v = (split_heads(x @ params["w_" + c] + params["b_" + c], n_heads) for c in "qkv")
    if mask is not None and np.ndim(mask) > 2:
        mask = np.expand_dims(mask, -3)
    return merge_heads(attention(q, k, v, mask)) @ params["w_o"] + params["b_o"]
