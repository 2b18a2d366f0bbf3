import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step05_output import attention
from exercises.step22_more_masks import sliding_window_mask


def new_window_cache(window):
    if window < 1:
        raise ValueError("window")
    return {"window": window, "k": None, "v": None}


def attend_with_window_cache(x_new, cache, w_q, w_k, w_v):
    w = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache["k"] is not None:
        k = np.concatenate([cache["k"], k], axis=-2)
        v = np.concatenate([cache["v"], v], axis=-2)
    y = attention(q, k, v, sliding_window_mask(q.shape[-2], k.shape[-2], max(w, q.shape[-2])))
    return y, {"window": w, "k": k[..., -w:, :].copy(), "v": v[..., -w:, :].copy()}
