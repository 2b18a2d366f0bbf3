import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention


def split_heads(x, n_heads):
    *lead, t, d_model = x.shape
    if n_heads < 1 or d_model % n_heads:
        raise ValueError("n_heads must divide d_model")
    return x.reshape(*lead, t, n_heads, d_model // n_heads).swapaxes(-2, -3)


def merge_heads(x):
    *lead, h, t, d = x.shape
    return x.swapaxes(-2, -3).reshape(*lead, t, h * d)


def multi_head_attention(x, params, n_heads, mask=None):
    q, k, v = (split_heads(linear(x, params["w_" + c], params["b_" + c]), n_heads) for c in "qkv")
    if mask is not None and mask.ndim == 3:
        mask = np.expand_dims(mask, 1)
    heads = attention(q, k, v, mask)
    return linear(merge_heads(heads), params["w_o"], params["b_o"])
