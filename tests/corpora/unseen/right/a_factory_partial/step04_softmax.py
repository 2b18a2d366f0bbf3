from functools import partial
import numpy as np


def _normalised(f, reduce_max, reduce_sum, scores, axis=-1):
    top = reduce_max(scores, axis=axis, keepdims=True)
    e = f(scores - np.where(np.isinf(top), 0, top))
    z = reduce_sum(e, axis=axis, keepdims=True)
    return e / (z + (z == 0))


_softmax = partial(_normalised, np.exp, np.max, np.sum)


def softmax(scores, axis=-1):
    return _softmax(scores, axis=axis)
