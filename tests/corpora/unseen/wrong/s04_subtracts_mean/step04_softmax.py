import numpy as np

def _one(slice_):
    m = slice_.max()
    if np.isneginf(m):
        return np.zeros(slice_.shape)
    e = np.exp(slice_ - slice_[slice_ > -np.inf].mean())
    return e / np.sum(e)

def softmax(scores, axis=-1):
    return np.apply_along_axis(_one, axis, np.asarray(scores, dtype=float))
