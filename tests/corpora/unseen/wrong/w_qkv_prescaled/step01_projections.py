import numpy as np


def linear(x, weight, bias=None):
    out = x @ weight
    if bias is not None:
        out = out + bias
    return out


def project_qkv(x, w_q, w_k, w_v):
    v = x @ w_v
    return x @ w_q / np.sqrt(w_q.shape[1]), x @ w_k, v - v.mean(axis=-2, keepdims=True)
