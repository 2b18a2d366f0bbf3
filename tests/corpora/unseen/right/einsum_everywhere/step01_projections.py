import numpy as np
from numpy import einsum

def linear(x, weight, bias=None):
    y = einsum("...i,io->...o", x, weight)
    return y if bias is None else einsum("...o,o->...o", np.ones_like(y), bias) + y

def project_qkv(x, w_q, w_k, w_v):
    return tuple(einsum("...td,dk->...tk", x, w) for w in (w_q, w_k, w_v))
