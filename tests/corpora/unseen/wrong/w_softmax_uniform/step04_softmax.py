import numpy as np


def softmax(scores, axis=-1):
    s = np.where(np.isneginf(scores), -1e30, scores)
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)
