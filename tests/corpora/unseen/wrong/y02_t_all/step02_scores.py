import numpy as np


def attention_scores(q, k):
    return np.dot(q, k.T) / q.shape[-1] ** 0.5
