import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


class Buffer:
    def __init__(self):
        self.data = None
        self.used = 0

    def __len__(self):
        return self.used

    def extend(self, rows):
        n = rows.shape[-2]
        if self.data is None:
            self.data = np.empty(rows.shape[:-2] + (max(4, n), rows.shape[-1]), rows.dtype)
        capacity = self.data.shape[-2]
        if self.used + n > capacity:
            while self.used + n > capacity:
                capacity *= 2
            bigger = np.empty(self.data.shape[:-2] + (capacity, self.data.shape[-1]), self.data.dtype)
            bigger[..., :self.used, :] = self.data[..., :self.used, :]
            self.data = bigger
        self.data[..., self.used:self.used + n, :] = rows
        self.used += n
        return self.view

    @property
    def view(self):
        v = self.data[..., :self.used, :]
        v.flags.writeable = False
        return v


class KVCache:
    def __init__(self):
        self.keys, self.values = Buffer(), Buffer()

    def __len__(self):
        return len(self.keys)

    def __bool__(self):
        return True

    def attend(self, q, k, v):
        keys, values = self.keys.extend(k), self.values.extend(v)
        return attention(q, keys, values, causal_mask(q.shape[-2], len(self)))


new_cache = KVCache


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    return cache.attend(np.matmul(x_new, w_q), np.matmul(x_new, w_k), np.matmul(x_new, w_v)), cache
