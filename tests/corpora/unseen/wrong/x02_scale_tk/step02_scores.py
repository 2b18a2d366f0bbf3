import numpy as np


def attention_scores(q, k):
    d_k = q.shape[-2]
    return np.matmul(q, np.swapaxes(k, -1, -2)) / np.sqrt(d_k)
