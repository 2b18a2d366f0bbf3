import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


class _Buffer:
    """(..., capacity, d), capacity doubles when full"""

    def __init__(self):
        self.data = None
        self.n = 0

    def push(self, rows):
        need = self.n + rows.shape[-2]
        if self.data is None:
            self.data = np.empty(rows.shape[:-2] + (max(4, need), rows.shape[-1]), rows.dtype)
        capacity = self.data.shape[-2]
        if need > capacity:
            while capacity < need:
                capacity *= 2
            bigger = np.empty(self.data.shape[:-2] + (capacity, self.data.shape[-1]), self.data.dtype)
            bigger[..., :self.n, :] = self.data[..., :self.n, :]
            self.data = bigger
        self.data[..., self.n:need, :] = rows
        self.n = need
        return self.data[..., :need, :]


def new_cache():
    return _Buffer(), _Buffer()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    keys = cache[0].push(k)
    values = cache[1].push(v)
    return attention(q, keys, values, np.tri(q.shape[-2], keys.shape[-2], dtype=bool)), cache
