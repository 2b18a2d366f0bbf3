import numpy as np


def columns_softmax(s):
    """over the first axis"""
    top = s.max(axis=0)
    e = np.exp(s - np.where(top > -np.inf, top, 0))
    z = e.sum(axis=0)
    return e / np.where(z > 0, z, 1)


def softmax(scores, axis=-1):
    return np.moveaxis(columns_softmax(np.moveaxis(scores, axis, 0)), 0, axis)
