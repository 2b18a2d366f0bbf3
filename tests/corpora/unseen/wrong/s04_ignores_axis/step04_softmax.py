import numpy as np

def _one(slice_):
    m = slice_.max()
    if np.isneginf(m):
        return np.zeros(slice_.shape)
    e = np.exp(slice_ - m)
    return e / np.sum(e)

def softmax(scores, axis=-1):
    return np.apply_along_axis(_one, -1, np.asarray(scores, dtype=float))
