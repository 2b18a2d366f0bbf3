import numpy as np
def softmax(scores, axis=-1):
    m = np.max(scores, axis=axis, keepdims=True)
    m = np.where(m == -np.inf, 0.0, m)
    e = np.exp(scores - m)
    s = e.sum(axis=axis, keepdims=True)
    s = np.where(s == 0, 1.0, s)
    return e / s
