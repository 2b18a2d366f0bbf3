import numpy as np


def attention_scores(q, k):
    q = q / np.sqrt(q.shape[-1])
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
