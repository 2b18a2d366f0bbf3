import numpy as np


def linear(x, weight, bias=None):
    y = np.einsum("...i,ij->...j", x, weight)
    return y if bias is None else np.add(y, bias)


def project_qkv(x, w_q, w_k, w_v):
    return tuple(np.einsum("...ti,ij->...tj", x, w) for w in (w_q, w_k, w_v))
