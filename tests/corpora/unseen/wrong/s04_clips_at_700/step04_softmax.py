import numpy as np

def softmax(scores, axis=-1):
    scores = np.where(np.isneginf(scores), scores, np.clip(scores, -700, 700))
    m = np.max(scores, axis=axis, keepdims=True)
    e = np.exp(scores - m)                   # RuntimeWarning on dead rows, I know
    p = e / np.sum(e, axis=axis, keepdims=True)
    bad = np.isneginf(m)
    return np.where(bad, 0.0, p)
