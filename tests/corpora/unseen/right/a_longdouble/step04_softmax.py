import numpy as np


def softmax(scores, axis=-1):
    s = scores.astype(np.longdouble)
    top = s.max(axis=axis, keepdims=True)
    e = np.exp(s - np.where(top == -np.inf, np.longdouble(0), top))
    total = e.sum(axis=axis, keepdims=True)
    w = np.where(total == 0, np.longdouble(0), e / np.where(total == 0, np.longdouble(1), total))
    return w.astype(np.result_type(scores, np.float32))
