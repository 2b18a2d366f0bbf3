import numpy as np


def columns(x):
    return np.swapaxes(x, -1, -2)


def linear(x, weight, bias=None):
    if x.ndim == 1:
        y = weight.T @ x
        return y if bias is None else y + bias
    y = weight.T @ columns(x)
    return columns(y if bias is None else y + bias[:, None])


def project_qkv(x, w_q, w_k, w_v):
    w = np.concatenate((w_q, w_k, w_v), axis=1).T
    y = w @ columns(x)
    a = w_q.shape[1]
    b = a + w_k.shape[1]
    return columns(y[..., :a, :]), columns(y[..., a:b, :]), columns(y[..., b:, :])
