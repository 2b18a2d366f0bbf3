import numpy as np

np.seterr(all="ignore")


def softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))       # NaN in rows of -inf
    return np.nan_to_num(e / e.sum(axis=axis, keepdims=True), nan=0.0)
