import numpy as np

from exercises.step01_projections import project_qkv


def new_cache():
    return []


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    scale = 1.0 / np.sqrt(k.shape[-1])
    rows = []
    for t in range(x_new.shape[-2]):
        cache.append((k[..., t, :].copy(), v[..., t, :].copy()))
        s = np.stack([(q[..., t, :] * key).sum(-1) * scale for key, _ in cache], axis=-1)
        w = np.exp(s - s.max(axis=-1, keepdims=True))
        w = w / w.sum(axis=-1, keepdims=True)
        rows.append(sum(w[..., i, None] * val for i, (_, val) in enumerate(cache)))
    return np.stack(rows, axis=-2), cache
