import numpy as np


def _log_sum(s):
    """log of the sum of exponentials over axis 0, pairwise"""
    n = s.shape[0]
    if n == 1:
        return s[0]
    return np.logaddexp(_log_sum(s[: n // 2]), _log_sum(s[n // 2:]))


def softmax(scores, axis=-1):
    s = np.moveaxis(np.asarray(scores, float), axis, 0)
    top = s.max(axis=0)
    s = s - np.where(top == -np.inf, 0.0, top)
    z = _log_sum(s)
    return np.moveaxis(np.exp(s - np.where(z == -np.inf, 0.0, z)), 0, axis)
