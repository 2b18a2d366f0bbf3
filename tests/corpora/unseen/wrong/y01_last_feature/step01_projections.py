import numpy as np


def linear(x, weight, bias=None):
    d_in, d_out = weight.shape
    out = np.zeros(x.shape[:-1] + (d_out,))
    for i in range(d_in - 1):
        out += x[..., i, None] * weight[i]
    if bias is not None:
        out = out + bias
    return out


def project_qkv(x, w_q, w_k, w_v):
    return linear(x, w_q), linear(x, w_k), linear(x, w_v)
