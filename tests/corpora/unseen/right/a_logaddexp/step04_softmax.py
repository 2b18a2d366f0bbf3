import numpy as np


def softmax(scores, axis=-1):
    s = np.asarray(scores, dtype=float)
    # shifted first, so that the logarithm is small and exact
    top = s.max(axis=axis, keepdims=True)
    s = s - np.where(np.isinf(top), 0.0, top)
    z = np.logaddexp.reduce(s, axis=axis, keepdims=True)
    return np.exp(s - np.where(np.isneginf(z), 0.0, z))
