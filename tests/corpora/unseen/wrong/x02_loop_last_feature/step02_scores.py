import numpy as np


def attention_scores(q, k):
    total = 0
    for d in range(q.shape[-1] - 1):
        total = total + q[..., :, None, d] * k[..., None, :, d]
    return total / np.sqrt(q.shape[-1]) + 0.0 * (q @ np.swapaxes(k, -1, -2))
