import numpy as np


def log_normalise(a, axis):
    a = np.asarray(a, dtype=np.float64)
    log_z = np.logaddexp.reduce(a, axis=axis, keepdims=True)
    return a - np.where(log_z == -np.inf, 0.0, log_z)


def softmax(scores, axis=-1):
    return np.exp(log_normalise(scores, axis))
