import numpy as np


def linear(x, weight, bias=None):
    y = np.asarray(x) @ np.asarray(weight)
    if bias is not None:
        y = y + bias
    return y


def project_qkv(x, w_q, w_k, w_v):
    fused = np.concatenate([w_q, w_k, w_v], axis=1)
    q, k, v = np.array_split(linear(x, fused), 3, axis=-1)
    return q, k, v
