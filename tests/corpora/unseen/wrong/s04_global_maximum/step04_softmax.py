import numpy as np


def softmax(scores, axis=-1):
    out = np.empty_like(scores)
    top = scores.max(keepdims=True)
    top[np.isneginf(top)] = 0
    np.subtract(scores, top, out=out)
    np.exp(out, out=out)
    total = out.sum(axis=axis, keepdims=True)
    total[total == 0] = 1
    out /= total
    return out
