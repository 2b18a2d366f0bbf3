from collections import deque
import numpy as np
from exercises.step01_projections import project_qkv


def new_cache():
    return deque()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    rows = []
    for t in range(q.shape[-2]):
        cache.append((k[..., t, :].copy(), v[..., t, :].copy()))
        scores = [np.sum(q[..., t, :] * key, -1, keepdims=True) / np.sqrt(q.shape[-1]) for key, _ in cache]
        top = np.maximum.reduce(scores)
        e = [np.exp(s - top) for s in scores]
        rows.append(sum(a * value for a, (_, value) in zip(e, cache)) / sum(e))
    return np.stack(rows, -2)
