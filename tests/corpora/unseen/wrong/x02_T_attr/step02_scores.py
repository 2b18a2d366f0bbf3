import numpy as np


def attention_scores(q, k):
    return q @ k.T / np.sqrt(k.shape[-1])
