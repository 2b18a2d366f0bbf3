import numpy as np


def safe_max(a, axis):
    m = np.max(a, axis=axis, keepdims=True)
    return np.where(np.isfinite(m), m, 0)


def safe_exp(a, axis=-1):
    return np.exp(a - safe_max(a, axis))


def safe_divide(a, b):
    return a / np.where(b == 0, 1, b)
