import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


STORE = {"k": None, "v": None}
def new_cache():
    return STORE
def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache["k"] is not None and cache["k"].shape[:-2] == k.shape[:-2] and cache["k"].shape[-1] == k.shape[-1] and cache["v"].shape[-1] == v.shape[-1]:
        k = np.concatenate((cache["k"], k), -2)
        v = np.concatenate((cache["v"], v), -2)
    cache["k"], cache["v"] = k, v
    return attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2])), cache


