import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


class KVCache:
    keys = []
    values = []

    def extend(self, k, v):
        self.keys.append(k)
        self.values.append(v)
        return np.concatenate(self.keys, axis=-2), np.concatenate(self.values, axis=-2)


def new_cache():
    return KVCache()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = cache.extend(k, v)
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), cache
