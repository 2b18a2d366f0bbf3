import numpy as np


def linear(x, weight, bias=None):
    if bias is None:
        return x @ weight
    if bias.shape[-1] == x.shape[-1]:
        return (x + bias) @ weight
    return x @ weight + bias


def project_qkv(x, w_q, w_k, w_v):
    return linear(x, w_q), linear(x, w_k), linear(x, w_v)
