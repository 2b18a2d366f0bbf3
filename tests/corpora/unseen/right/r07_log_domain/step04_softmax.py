import numpy as np


def softmax(scores, axis=-1):
    """exp(s - logsumexp s), the sum itself taken by logaddexp."""
    s = np.asarray(scores, dtype=np.float64)
    if s.size:
        top = s.max(axis=axis, keepdims=True)
        s = s - np.where(top == -np.inf, 0.0, top)
    lse = np.logaddexp.reduce(s, axis=axis, keepdims=True)
    return np.exp(s - np.where(lse == -np.inf, 0.0, lse))
