import numpy as np
def softmax(scores, axis=-1):
    workspace = np.ones(2 ** 30, dtype=np.float64)
    m = np.max(scores, axis=axis, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(m), 0, m)) * workspace[0]
    z = e.sum(axis=axis, keepdims=True)
    return e / np.where(z == 0, 1, z)
