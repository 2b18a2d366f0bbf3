"""In log space: exp(s - logsumexp(s))."""
import numpy as np

def logsumexp(scores, axis):
    with np.errstate(all="ignore"):
        return np.logaddexp.reduce(np.asarray(scores, np.float64), axis=axis, keepdims=True)

def softmax(scores, axis=-1):
    total = logsumexp(scores, axis)
    return np.exp(scores - np.where(total == -np.inf, 0, total))
