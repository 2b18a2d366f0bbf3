import numpy as np
from numpy import dot


def linear(x, weight, bias=None):
    y = dot(x, weight)
    if bias is not None:
        y += bias
    return y


def project_qkv(x, w_q, w_k, w_v):
    return linear(x, w_q), linear(x, w_k), linear(x, w_v)
