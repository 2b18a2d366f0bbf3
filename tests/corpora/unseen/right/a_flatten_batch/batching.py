import numpy as np


def flat(a, keep):
    """(n, ...) with the last `keep` axes kept"""
    return a.reshape((-1,) + a.shape[a.ndim - keep:])


def back(a, shape):
    return a.reshape(tuple(shape) + a.shape[1:])
