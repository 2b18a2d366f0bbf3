import numpy as np


def attention_scores(q, k):
    q, k = q.astype(np.float32), k.astype(np.float32)
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(np.float32(q.shape[-1]))
