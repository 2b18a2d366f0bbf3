import numpy as np


def linear(x, weight, bias=None):
    y = np.matmul(x, weight)
    if bias is not None:
        y = y + bias
    return y


def project_qkv(x, w_q, w_k, w_v):
    q = x @ w_q
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return q, x @ w_k, x @ w_v
