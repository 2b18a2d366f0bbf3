import numpy as np


def softmax(scores, axis=-1):
    peak = np.max(scores, axis=axis, keepdims=True)
    if np.any(np.isneginf(peak)):      # nothing to attend to
        return np.zeros_like(scores)
    e = np.exp(scores - peak)
    return e / e.sum(axis=axis, keepdims=True)
