import numpy as np


def _one(row):
    top = row.max()
    if top == -np.inf:
        return np.zeros(row.shape)
    e = np.exp(row - top)
    return e / e.sum()


def softmax(scores, axis=-1):
    return np.apply_along_axis(_one, axis, np.asarray(scores, dtype=float))
