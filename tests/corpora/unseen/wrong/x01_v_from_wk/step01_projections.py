import numpy as np


def linear(x, weight, bias=None):
    y = np.matmul(x, weight)
    if bias is not None:
        y = y + bias
    return y


def project_qkv(x, w_q, w_k, w_v):
    return linear(x, w_q), linear(x, w_k), linear(x, w_k)
