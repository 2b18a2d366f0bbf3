import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def _attender():
    y = keys = values = None
    while True:
        x, w_q, w_k, w_v = yield y
        q, k, v = project_qkv(x, w_q, w_k, w_v)
        keys = k if keys is None else np.concatenate([keys, k], axis=-2)
        values = v if values is None else np.concatenate([values, v], axis=-2)
        y = attention(q, keys, values, causal_mask(q.shape[-2], keys.shape[-2]))


def new_cache():
    g = _attender()
    next(g)
    return g


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    return cache.send((x_new, w_q, w_k, w_v)), cache
