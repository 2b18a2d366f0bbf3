import numpy as np


def softmax(scores, axis=-1):
    m = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(m), 0, m))
    s = e.sum(axis=-1, keepdims=True)
    return e / np.where(s == 0, 1, s)
