import numpy as np


def softmax(scores, axis=-1):
    m = scores.max()
    e = np.exp(scores - (m if np.isfinite(m) else 0))
    s = e.sum(axis=axis, keepdims=True)
    return e / np.where(s == 0, 1, s)
