from array import array

import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


class Tape:
    """time comes first on the tape, so that appending is extending"""

    def __init__(self):
        self.data, self.shape, self.dtype = array("d"), None, None

    def append(self, a):
        rows = np.moveaxis(a, -2, 0)
        self.shape, self.dtype = rows.shape[1:], a.dtype
        self.data.extend(rows.astype(np.float64).ravel().tolist())

    def read(self):
        a = np.array(self.data).reshape((-1,) + self.shape)
        return np.moveaxis(a, 0, -2).astype(self.dtype)


def new_cache():
    return Tape(), Tape()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    cache[0].append(k)
    cache[1].append(v)
    keys, values = cache[0].read(), cache[1].read()
    return attention(q, keys, values, causal_mask(q.shape[-2], keys.shape[-2])), cache
