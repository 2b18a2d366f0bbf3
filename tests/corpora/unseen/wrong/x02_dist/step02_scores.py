import numpy as np


def attention_scores(q, k):
    diff = q[..., :, None, :] - k[..., None, :, :]
    return -np.sum(diff**2, axis=-1) / np.sqrt(q.shape[-1])
