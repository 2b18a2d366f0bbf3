import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


class KV(dict):
    def __missing__(self, name):
        return None

    def add(self, **new):
        for name, a in new.items():
            old = self[name]
            self[name] = a if old is None else np.concatenate([old, a], axis=-2)


def new_cache():
    return KV()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    cache.add(k=linear(x_new, w_k), v=linear(x_new, w_v))
    q = linear(x_new, w_q)
    mask = causal_mask(q.shape[-2], cache["k"].shape[-2])
    return attention(q, cache["k"], cache["v"], mask), cache
