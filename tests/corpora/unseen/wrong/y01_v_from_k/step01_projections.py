import numpy as np


def linear(x, weight, bias=None):
    y = np.matmul(x, weight)
    if bias is not None:
        y = y + bias
    return y


def project_qkv(x, w_q, w_k, w_v):
    q, k = x @ w_q, x @ w_k
    v = k @ w_v if k.shape[-1] == w_v.shape[0] else x @ w_v
    return q, k, v
