import numpy as np


def attention_scores(q, k):
    out = np.empty(q.shape[:-1] + (k.shape[-2],), dtype=q.dtype)
    for i in range(q.shape[-2]):
        out[..., i, :] = (q[..., i, None, :] * k).sum(axis=-1)
    out /= np.sqrt(q.shape[-1])
    return out
