import numpy as np


def softmax(scores, axis=-1):
    print("softmax of", scores.shape, "along", axis)
    top = np.max(scores, axis=axis, keepdims=True)
    print("largest:", top.max())
    empty = top == -np.inf
    if empty.any():
        print("there are", empty.sum(), "rows of minus infinity")
    e = np.exp(scores - np.where(empty, 0.0, top))
    w = e / np.where(empty, 1.0, e.sum(axis=axis, keepdims=True))
    print("sums:", np.unique(np.round(w.sum(axis=axis), 6)))
    return w
