import numpy as np

def softmax(scores, axis=-1):
    s = np.asfortranarray(scores)
    s = np.maximum(s, np.finfo(s.dtype).min)          # no infinities please
    m = np.fmax(s.max(axis=axis, keepdims=True), np.finfo(s.dtype).min)     # -inf becomes the lowest float
    e = np.exp(s - m)
    z = e.sum(axis=axis, keepdims=True)
    return np.asfortranarray(e / np.maximum(z, np.finfo(s.dtype).tiny))
