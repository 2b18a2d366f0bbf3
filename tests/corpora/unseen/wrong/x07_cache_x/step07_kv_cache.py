import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def new_cache():
    return {"k": None, "v": None}


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    x = x_new if cache["k"] is None else np.concatenate([cache["k"], x_new], axis=-2)
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    q = q[..., -x_new.shape[-2] :, :]
    mask = causal_mask(q.shape[-2], k.shape[-2])
    return attention(q, k, v, mask), {"k": x, "v": None}
