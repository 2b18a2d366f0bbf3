import numpy as np


def softmax(scores, axis=-1):
    lowest = np.finfo(np.float32).min
    scores = np.nan_to_num(scores, neginf=lowest)
    scores = scores - np.amax(scores, axis=axis, keepdims=True)
    numer = np.exp(scores)
    return numer / np.sum(numer, axis=axis, keepdims=True)
