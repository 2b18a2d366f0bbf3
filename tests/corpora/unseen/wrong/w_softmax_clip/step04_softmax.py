import numpy as np


def softmax(scores, axis=-1):
    e = np.exp(np.clip(scores, -50, 50))
    return e / e.sum(axis=axis, keepdims=True)
