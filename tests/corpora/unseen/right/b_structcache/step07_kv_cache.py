import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def new_cache():
    return None


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    record = np.dtype([("k", k.dtype, (k.shape[-1],)), ("v", v.dtype, (v.shape[-1],))])
    new = np.empty(k.shape[:-1], dtype=record)
    new["k"] = k
    new["v"] = v
    table = new if cache is None else np.concatenate([cache, new], axis=-1)
    y = attention(q, table["k"], table["v"], causal_mask(q.shape[-2], table.shape[-1]))
    return y, table
