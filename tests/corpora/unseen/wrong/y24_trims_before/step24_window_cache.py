import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step05_output import attention
from exercises.step22_more_masks import sliding_window_mask


def new_window_cache(window):
    if window < 1:
        raise ValueError("window must be at least 1")
    return {"window": window, "k": None, "v": None}


def attend_with_window_cache(x_new, cache, w_q, w_k, w_v):
    w = cache["window"]
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache["k"] is not None:
        k, v = np.concatenate([cache["k"], k], -2), np.concatenate([cache["v"], v], -2)
    k, v = k[..., -w:, :], v[..., -w:, :]
    tq, tk = q.shape[-2], k.shape[-2]
    i, j = np.arange(tq)[:, None] + tk - tq, np.arange(tk)
    y = attention(q, k, v, (j <= i) & (i - j < w))
    return y, {"window": w, "k": k, "v": v}
