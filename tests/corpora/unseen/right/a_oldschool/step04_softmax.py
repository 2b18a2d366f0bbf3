import numpy as np


def softmax(scores, axis=-1):
    e = np.array(scores, dtype=float)
    top = np.expand_dims(np.maximum.reduce(e, axis), axis)
    np.putmask(top, np.isneginf(top), 0.0)
    e -= top
    np.exp(e, e)
    z = np.expand_dims(np.add.reduce(e, axis), axis)
    np.putmask(z, z == 0.0, 1.0)
    e /= z
    return e
