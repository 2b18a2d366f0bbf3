import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention

class Cache:
    count = 0
    def __init__(self):
        Cache.count += 1
        self.k = self.v = None
    def __repr__(self):
        return "<Cache %s>" % ("empty" if self.k is None else self.k.shape[-2])

def new_cache():
    return Cache()

def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache.k is None:
        cache.k = np.zeros((0, k.shape[-1]))
        cache.v = np.zeros((0, v.shape[-1]))
    cache.k = np.concatenate([cache.k, k], axis=-2)
    cache.v = np.concatenate([cache.v, v], axis=-2)
    return attention(q, cache.k, cache.v, causal_mask(q.shape[-2], cache.k.shape[-2])), cache
