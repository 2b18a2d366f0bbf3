import numpy as np


def linear(x, weight, bias=None):
    y = np.matmul(x, weight)
    if bias is not None:
        y = y + bias
    return y


def project_qkv(x, w_q, w_k, w_v):
    k = linear(x, w_k)
    return linear(k, w_q) if k.shape[-1] == w_q.shape[0] else k, k, linear(x, w_v)
