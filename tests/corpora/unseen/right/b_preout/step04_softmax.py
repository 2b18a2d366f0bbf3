import numpy as np


def softmax(scores, axis=-1):
    buf = np.array(scores, copy=True)
    m = np.max(buf, axis=axis, keepdims=True)
    m[np.isneginf(m)] = 0
    np.subtract(buf, m, out=buf)
    np.exp(buf, out=buf)
    np.sum(buf, axis=axis, keepdims=True, out=m)
    m[m == 0] = 1
    np.divide(buf, m, out=buf)
    return buf
