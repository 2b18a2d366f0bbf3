import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step04_softmax import softmax


def _attender():
    """send (q, k, v), receive y"""
    q, k, v = yield
    while True:
        t_q, t_k = q.shape[-2], k.shape[-2]
        s = np.einsum("...id,...jd->...ij", q, k) / np.sqrt(q.shape[-1])
        s[..., np.arange(t_k) > np.arange(t_k - t_q, t_k)[:, None]] = -np.inf
        q, more_k, more_v = yield softmax(s) @ v
        k, v = np.append(k, more_k, axis=-2), np.append(v, more_v, axis=-2)


def new_cache():
    g = _attender()
    next(g)
    return g


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    return cache.send(project_qkv(x_new, w_q, w_k, w_v)), cache
