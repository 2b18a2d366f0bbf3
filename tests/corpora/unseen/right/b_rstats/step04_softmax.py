import numpy as np


def softmax(scores, axis=-1):
    def p(v):  # exp(v - logsumexp(v))
        lse = np.logaddexp.reduce(v)
        return np.exp(v - lse) if lse > -np.inf else np.zeros(len(v))

    return np.apply_along_axis(p, axis, np.asarray(scores, dtype=float))
