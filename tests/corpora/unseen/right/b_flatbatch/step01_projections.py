import numpy as np


def linear(x, weight, bias=None):
    lead = x.shape[:-1]
    flat = np.reshape(x, (int(np.prod(lead, dtype=int)), x.shape[-1]))
    y = flat.dot(weight)
    if bias is not None:
        y += bias
    return y.reshape(lead + (weight.shape[1],))


def project_qkv(x, w_q, w_k, w_v):
    flat = x.reshape(-1, x.shape[-1])
    return tuple((flat @ w).reshape(x.shape[:-1] + w.shape[1:]) for w in (w_q, w_k, w_v))
