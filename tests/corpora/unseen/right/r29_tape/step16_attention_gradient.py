import numpy as np

from exercises.layers import attention
from exercises.tape import Var, backward


def attention_backward(d_out, q, k, v, mask=None):
    leaves = tuple(map(Var, (q, k, v)))
    return tuple(backward(attention(*leaves, mask), d_out, leaves))


def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    leaves = x, *ws = tuple(map(Var, (x, w_q, w_k, w_v)))
    mask = np.tri(x.shape[-2], dtype=bool) & (True if padding is None else padding)
    return tuple(backward(attention(*(x @ w for w in ws), mask), d_out, leaves))
