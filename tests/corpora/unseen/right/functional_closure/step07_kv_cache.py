import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention

# A cache is a function: give it the new keys and values, get all of them and the next cache.

def new_cache():
    return lambda k, v: ((k, v), _remember(k, v))

def _remember(old_k, old_v):
    def cache(k, v):
        all_k = np.concatenate([old_k, k], -2)
        all_v = np.concatenate([old_v, v], -2)
        return (all_k, all_v), _remember(all_k, all_v)
    return cache

def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    (k, v), following = cache(k, v)
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), following
