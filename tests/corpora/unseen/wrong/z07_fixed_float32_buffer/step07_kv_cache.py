import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
CAPACITY = 64


def new_cache():
    return {"n": 0, "k": None, "v": None}


def _push(buffer, fresh):
    if buffer is None:
        buffer = np.zeros(fresh.shape[:-2] + (0, fresh.shape[-1]), dtype=np.float32)
    joined = np.concatenate([buffer, fresh.astype(np.float32)], axis=-2)
    return joined[..., -CAPACITY:, :]


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    keys = k if cache["k"] is None else np.concatenate([cache["k"], k], axis=-2)
    values = v if cache["v"] is None else np.concatenate([cache["v"], v], axis=-2)
    y = attention(q, keys, values, causal_mask(q.shape[-2], keys.shape[-2]))
    n = cache["n"] + x_new.shape[-2]
    return y, {"n": n, "k": _push(cache["k"], k), "v": _push(cache["v"], v)}
