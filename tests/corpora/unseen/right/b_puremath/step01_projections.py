import math


def _np():
    import numpy

    return numpy


def _linear(x, w, b):
    if isinstance(x[0], list):
        return [_linear(row, w, b) for row in x]
    return [math.fsum(xi * wi[j] for xi, wi in zip(x, w)) + b[j] for j in range(len(w[0]))]


def linear(x, weight, bias=None):
    w = weight.tolist()
    b = [0.0] * len(w[0]) if bias is None else bias.tolist()
    return _np().array(_linear(x.tolist(), w, b))


def project_qkv(x, w_q, w_k, w_v):
    return linear(x, w_q), linear(x, w_k), linear(x, w_v)
