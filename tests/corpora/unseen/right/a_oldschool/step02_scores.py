import numpy as np


def attention_scores(q, k):
    n = k.ndim
    axes = list(range(n - 2)) + [n - 1, n - 2]
    s = np.matmul(q, k.transpose(axes))
    s /= np.sqrt(float(q.shape[-1]))
    return s
