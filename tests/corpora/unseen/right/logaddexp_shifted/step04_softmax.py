import numpy as np

def softmax(scores, axis=-1):
    top = np.max(scores, axis=axis, keepdims=True)
    s = scores - np.where(top == -np.inf, 0, top)       # shift first, 1e6 + log 2 has no room for log 2
    lse = np.logaddexp.reduce(s, axis=axis, keepdims=True)
    return np.exp(s - np.where(lse == -np.inf, 0, lse))
