import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def new_cache():
    return {"k": None, "v": None}


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache["k"] is not None:
        k = np.concatenate([cache["k"], k], axis=-2)
        v = np.concatenate([cache["v"], v], axis=-2)
    stored = v[..., -x_new.shape[-2]:, :] if cache["v"] is not None else v
    mask = causal_mask(q.shape[-2], k.shape[-2])
    return attention(q, k, v, mask), {"k": k, "v": np.concatenate([np.zeros_like(v[..., : v.shape[-2] - stored.shape[-2], :]), stored], -2)}
