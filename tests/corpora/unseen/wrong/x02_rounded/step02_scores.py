import numpy as np


def attention_scores(q, k):
    return np.round(q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1]), 3)
