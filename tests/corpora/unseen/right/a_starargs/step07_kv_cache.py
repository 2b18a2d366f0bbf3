import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def new_cache(**start):
    return dict(start)


def extend(cache, **new):
    return {**cache, **{n: np.concatenate([*([cache[n]] if n in cache else []), a], axis=-2) for n, a in new.items()}}


def attend_with_cache(x_new, cache, *args, **kwargs):
    q, k, v = project_qkv(x_new, *args, **kwargs)
    cache = extend(cache, k=k, v=v)
    return attention(q, **cache, mask=causal_mask(q.shape[-2], cache["k"].shape[-2])), cache
