import numpy as np


def softmax(scores, axis=-1):
    m = scores.max(axis=axis, keepdims=True)
    z = scores - np.where(np.isneginf(m), 0, m)
    s = np.exp(z).sum(axis=axis, keepdims=True)
    return z - np.log(np.where(s == 0, 1, s))
