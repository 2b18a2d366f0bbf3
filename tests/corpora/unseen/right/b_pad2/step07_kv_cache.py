import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step05_output import attention


def _room(n):
    return 1 << max(n - 1, 0).bit_length()


class PaddedCache:
    def __init__(self):
        self.used = 0
        self.k = self.v = None

    def push(self, k, v):
        n = self.used + k.shape[-2]
        if self.k is None or n > self.k.shape[-2]:
            size = _room(n)
            for name, new in (("k", k), ("v", v)):
                bigger = np.zeros(new.shape[:-2] + (size, new.shape[-1]), dtype=new.dtype)
                if self.used:
                    bigger[..., : self.used, :] = getattr(self, name)[..., : self.used, :]
                setattr(self, name, bigger)
        self.k[..., self.used : n, :] = k
        self.v[..., self.used : n, :] = v
        self.used = n


def new_cache():
    return PaddedCache()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    old = cache.used
    cache.push(k, v)
    slots = np.arange(cache.k.shape[-2])
    mine = old + np.arange(q.shape[-2])
    mask = slots[None, :] <= mine[:, None]
    return attention(q, cache.k, cache.v, mask), cache
