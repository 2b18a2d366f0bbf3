import numpy as np


def softmax(scores, axis=-1, where=None, temperature=1.0, log=False):
    s = scores if where is None else np.where(where, scores, -np.inf)
    top = np.max(s, axis=axis, keepdims=True)
    s = (s - np.where(np.isneginf(top), 0.0, top)) / temperature
    if log:
        return s - np.log(np.exp(s).sum(axis=axis, keepdims=True))
    e = np.exp(s)
    z = e.sum(axis=axis, keepdims=True)
    return np.divide(e, z, out=np.zeros_like(e), where=z != 0)
