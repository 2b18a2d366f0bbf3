import numpy as np


def attention_scores(q, k):
    return np.einsum("...qd,...kd->...qk", q, k) / np.sqrt(q.shape[-1])
