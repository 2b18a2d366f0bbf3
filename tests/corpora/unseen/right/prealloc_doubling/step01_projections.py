import numpy as np


def linear(x, weight, bias=None):
    out = np.empty(x.shape[:-1] + (weight.shape[1],), dtype=np.result_type(x, weight))
    np.matmul(x, weight, out=out)
    if bias is not None:
        out += bias
    return out


def project_qkv(x, w_q, w_k, w_v):
    lead = x.shape[:-1]
    q = np.empty(lead + (w_q.shape[1],), x.dtype)
    k = np.empty(lead + (w_k.shape[1],), x.dtype)
    v = np.empty(lead + (w_v.shape[1],), x.dtype)
    q[...] = x @ w_q
    k[...] = x @ w_k
    v[...] = x @ w_v
    return q, k, v
