import numpy as np


def softmax(scores, axis=-1):
    top = np.max(scores, axis=axis, keepdims=True)
    top = np.where(np.isinf(top), 0, top)
    e = np.exp(scores - top)
    total = np.sum(e)
    return e / np.where(total == 0, 1, total)
