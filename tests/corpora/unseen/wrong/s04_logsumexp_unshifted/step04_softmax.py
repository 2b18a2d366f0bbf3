import numpy as np

def softmax(scores, axis=-1):
    s = np.asarray(scores)
    lse = np.logaddexp.reduce(s, axis=axis, keepdims=True)
    return np.exp(s - np.where(lse == -np.inf, 0, lse))
