from collections import deque

import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step05_output import attention
from exercises.step22_more_masks import sliding_window_mask


class WindowCache:
    def __init__(self, window):
        self.window = window
        self.chunks = deque(maxlen=window)   # drops what is too old by itself

    def add(self, k, v):
        self.chunks.append((k, v))
        keys, values = zip(*self.chunks)
        return np.concatenate(keys, axis=-2), np.concatenate(values, axis=-2)


def new_window_cache(window):
    if window < 1:
        raise ValueError("window must be at least 1")
    return WindowCache(window)


def attend_with_window_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    k, v = cache.add(k, v)
    mask = sliding_window_mask(q.shape[-2], cache.window, k.shape[-2])
    return attention(q, k, v, mask), cache
