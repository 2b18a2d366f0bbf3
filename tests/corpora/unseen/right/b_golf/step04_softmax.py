import numpy as np
def softmax(scores, axis=-1):
    m = scores.max(axis, keepdims=1); e = np.exp(scores - np.maximum(m, np.finfo(m.dtype).min)); s = e.sum(axis, keepdims=1)
    return e / (s + (s == 0))
