import numpy as np


def linear(x, weight, bias=None):
    sz = x.shape
    X = np.reshape(x, (-1, sz[-1]))
    Y = X @ weight
    [m, n] = Y.shape
    if bias is not None:
        Y = Y + np.tile(np.reshape(bias, (1, n)), (m, 1))  # repmat(b, m, 1)
    return np.reshape(Y, sz[:-1] + (n,))


def project_qkv(x, w_q, w_k, w_v):
    W = np.concatenate((w_q, w_k, w_v), axis=1)  # [w_q w_k w_v]
    Y = linear(x, W)
    a = w_q.shape[1]
    b = a + w_k.shape[1]
    return Y[..., :a], Y[..., a:b], Y[..., b:]
