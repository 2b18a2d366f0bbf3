import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


class GrowingCache:
    """Keys and values in arrays that double when they are full."""

    def __init__(self):
        self.length = 0
        self.k = None
        self.v = None

    def reserve(self, k, v):
        needed = self.length + k.shape[-2]
        if self.k is None:
            size = max(8, needed)
            self.k = np.zeros(k.shape[:-2] + (size, k.shape[-1]), k.dtype)
            self.v = np.zeros(v.shape[:-2] + (size, v.shape[-1]), v.dtype)
        elif needed > self.k.shape[-2]:
            size = max(2 * self.k.shape[-2], needed)
            old_k, n = self.k, self.length
            self.k = np.zeros(k.shape[:-2] + (size, k.shape[-1]), k.dtype)
            self.v = np.zeros(v.shape[:-2] + (size, v.shape[-1]), v.dtype)
            self.k[..., :n, :] = old_k[..., :n, :]

    def append(self, k, v):
        self.reserve(k, v)
        start, self.length = self.length, self.length + k.shape[-2]
        self.k[..., start:self.length, :] = k
        self.v[..., start:self.length, :] = v
        return self.k[..., :self.length, :], self.v[..., :self.length, :]


def new_cache():
    return GrowingCache()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = cache.append(k, v)
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), cache
