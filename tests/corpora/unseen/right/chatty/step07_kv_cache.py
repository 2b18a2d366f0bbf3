import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention

class Cache:
    count = 0
    def __init__(self):
        Cache.count += 1
        print("cache number", Cache.count)
        self.k = self.v = None
    def __repr__(self):
        return "<Cache %s>" % ("empty" if self.k is None else self.k.shape[-2])

def new_cache():
    return Cache()

def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    print("before", cache)
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    cache.k = k if cache.k is None else np.concatenate([cache.k, k], axis=-2)
    cache.v = v if cache.v is None else np.concatenate([cache.v, v], axis=-2)
    print("after", cache)
    return attention(q, cache.k, cache.v, causal_mask(q.shape[-2], cache.k.shape[-2])), cache
