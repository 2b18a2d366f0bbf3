import numpy as np


def linear(x, weight, bias=None):
    B, T, d = x.shape
    out = (x.reshape(B * T, d) @ weight).reshape(B, T, -1)
    return out if bias is None else out + bias


def project_qkv(x, w_q, w_k, w_v):
    return linear(x, w_q), linear(x, w_k), linear(x, w_v)
