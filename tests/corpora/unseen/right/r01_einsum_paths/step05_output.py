import numpy as np
from exercises.paths import contract
from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores


def attention_output(weights, v):
    return contract("...qk,...kv->...qv", weights, v)


def attention(q, k, v, mask=None):
    s = attention_scores(q, k)
    allowed = np.broadcast_to(True if mask is None else mask, s.shape)
    top = np.max(s, axis=-1, keepdims=True, where=allowed, initial=-np.inf)
    top = np.where(np.isneginf(top), 0, top)
    e = np.exp(s - top, where=allowed, out=np.zeros(s.shape))
    z = contract("...qk->...q", e)
    # divide after the contraction with v instead of before: the same number
    o = attention_output(e, v)
    return np.divide(o, z[..., None], where=z[..., None] > 0, out=np.zeros(o.shape))


def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    t = x.shape[-2]
    mask = np.tri(t, dtype=bool)
    if padding is not None:
        mask = np.logical_and(mask, padding)
    return attention(*project_qkv(x, w_q, w_k, w_v), mask)
