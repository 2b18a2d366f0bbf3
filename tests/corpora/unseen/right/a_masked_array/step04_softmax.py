import numpy as np
import numpy.ma as ma


def softmax(scores, axis=-1):
    s = ma.array(scores, mask=np.isneginf(scores), dtype=float)
    top = s.max(axis=axis, keepdims=True)
    e = ma.array(np.exp((s - top).filled(-np.inf)), mask=ma.getmaskarray(s))
    return np.asarray((e / e.sum(axis=axis, keepdims=True)).filled(0.0))
