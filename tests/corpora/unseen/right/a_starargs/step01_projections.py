import numpy as np


def linear(x, weight, bias=None, *, scale=None):
    y = np.matmul(x, weight)
    y = y if bias is None else y + bias
    return y if scale is None else y * scale


def project_qkv(x, *weights, **named):
    order = ("w_q", "w_k", "w_v")[len(weights):]
    return tuple(linear(x, w) for w in (*weights, *(named[n] for n in order)))
