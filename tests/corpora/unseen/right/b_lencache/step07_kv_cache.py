import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step05_output import attention


class Memory:
    def __init__(self):
        self._chunks = []

    def __len__(self):
        return sum(k.shape[-2] for k, _ in self._chunks)

    def __getitem__(self, i):
        return np.concatenate([c[i] for c in self._chunks], axis=-2)

    def __iadd__(self, chunk):
        self._chunks.append(chunk)
        return self


def new_cache():
    return Memory()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    old = len(cache)  # an empty Memory is falsy: never write "cache or Memory()"
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    cache += (k, v)
    i = np.arange(old, len(cache))[:, None]
    j = np.arange(len(cache))[None, :]
    return attention(q, cache[0], cache[1], j <= i), cache
