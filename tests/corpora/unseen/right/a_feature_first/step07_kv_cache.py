import numpy as np
from exercises.step01_projections import columns, project_qkv
from exercises.step04_softmax import softmax


def new_cache():
    return {"kv": None}


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = (columns(a) for a in project_qkv(x_new, w_q, w_k, w_v))
    kv = np.concatenate((k, v), axis=-2)
    if cache["kv"] is not None:
        kv = np.concatenate((cache["kv"], kv), axis=-1)
    d, t, n = k.shape[-2], kv.shape[-1], q.shape[-1]
    s = np.einsum("...dk,...dq->...kq", kv[..., :d, :], q) / np.sqrt(d)
    # key i is hidden from query j if it comes later
    s = np.where(np.arange(t)[:, None] > np.arange(t - n, t), -np.inf, s)
    return columns(kv[..., d:, :] @ softmax(s, axis=-2)), {"kv": kv}
