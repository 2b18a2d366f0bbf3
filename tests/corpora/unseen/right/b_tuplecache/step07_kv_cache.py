import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def new_cache():
    return ()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    cache = cache + ((k, v),)
    keys, values = (np.concatenate(part, axis=-2) for part in zip(*cache))
    return attention(q, keys, values, causal_mask(q.shape[-2], keys.shape[-2])), cache
