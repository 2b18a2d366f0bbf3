import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def records(k, v):
    """(..., T) records of (k, v)"""
    r = np.empty(k.shape[:-1], dtype=[("k", k.dtype, k.shape[-1:]), ("v", v.dtype, v.shape[-1:])])
    r["k"], r["v"] = k, v
    return r


def join(a, b):
    return b if a is None else np.concatenate([a, b], axis=-1)


class Box:
    tokens = None


def new_cache():
    return Box()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    cache.tokens = join(cache.tokens, records(x_new @ w_k, x_new @ w_v))
    t = cache.tokens
    return attention(x_new @ w_q, t["k"], t["v"], causal_mask(x_new.shape[-2], t.shape[-1])), cache
