import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def new_cache():
    return {"k": None, "v": None}


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k_new, v_new = project_qkv(x_new, w_q, w_k, w_v)
    k, v = k_new, v_new
    if cache["k"] is not None:
        k = np.concatenate((cache["k"], k_new), -2)
        v = np.concatenate((cache["v"], v_new), -2)
    y = attention(q, k, v, causal_mask(q.shape[-2], k.shape[-2]))
    return y, {"k": k_new, "v": v_new}
