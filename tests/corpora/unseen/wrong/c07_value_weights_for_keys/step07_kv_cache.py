import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


class DynamicCache:
    # HF style
    def __init__(self):
        self.key_cache = None
        self.value_cache = None

    def update(self, k, v):
        if self.key_cache is None:
            self.key_cache, self.value_cache = k, v
        else:
            self.key_cache = np.concatenate([self.key_cache, k], axis=-2)
            self.value_cache = np.concatenate([self.value_cache, v], axis=-2)
        return self.key_cache, self.value_cache


def new_cache():
    return DynamicCache()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_v, w_v)
    k, v = cache.update(k, v)
    mask = causal_mask(q.shape[-2], k.shape[-2])
    return attention(q, k, v, mask), cache
