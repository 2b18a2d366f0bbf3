import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def new_cache():
    keys = values = None

    def extend(k, v):
        nonlocal keys, values
        keys = k if keys is None else np.concatenate([keys, k], axis=-2)
        values = v if values is None else np.concatenate([values, v], axis=-2)
        return keys, values

    return extend


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = cache(k, v)
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), cache
