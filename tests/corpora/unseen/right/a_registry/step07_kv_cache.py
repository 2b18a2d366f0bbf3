import numpy as np
from exercises.registry import open_handle, state
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def new_cache():
    return open_handle(rows=[])


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    rows = state(cache)["rows"]
    rows.append((np.matmul(x_new, w_k), np.matmul(x_new, w_v)))
    k = np.concatenate([r[0] for r in rows], axis=-2)
    v = np.concatenate([r[1] for r in rows], axis=-2)
    return attention(np.matmul(x_new, w_q), k, v, causal_mask(x_new.shape[-2], k.shape[-2])), cache
