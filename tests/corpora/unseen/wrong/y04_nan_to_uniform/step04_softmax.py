import numpy as np


def softmax(scores, axis=-1):
    s = np.where(np.isneginf(scores), np.finfo(np.float64).min / 2, scores)
    s = s - s.max(axis=axis, keepdims=True)
    e = np.exp(s)
    return e / e.sum(axis=axis, keepdims=True)
