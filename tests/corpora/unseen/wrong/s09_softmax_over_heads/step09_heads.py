import numpy as np
from numpy import einsum
from exercises.step04_softmax import softmax

def split_heads(x, n_heads):
    *batch, T, d = x.shape
    if d % n_heads:
        raise ValueError(f"n_heads={n_heads} does not divide d_model={d}")
    return einsum("...thd->...htd", x.reshape(*batch, T, n_heads, d // n_heads))

def merge_heads(x):
    y = einsum("...htd->...thd", x)
    return y.reshape(y.shape[:-2] + (-1,)) if y.size else y.reshape(y.shape[:-2] + (y.shape[-2] * y.shape[-1],))

def _project(x, w, b, n_heads):
    d = w.shape[0]
    if d % n_heads:
        raise ValueError("n_heads")
    return einsum("...tm,mhd->...htd", x, w.reshape(d, n_heads, -1)) + b.reshape(n_heads, 1, -1)

def _attend(x, memory, p, n_heads, mask):
    q = _project(x, p["w_q"], p["b_q"], n_heads)
    k = _project(memory, p["w_k"], p["b_k"], n_heads)
    v = _project(memory, p["w_v"], p["b_v"], n_heads)
    s = einsum("...hqd,...hkd->...hqk", q, k) / np.sqrt(q.shape[-1])
    if mask is not None:
        m = np.broadcast_to(mask, x.shape[:-1] + memory.shape[-2:-1])
        s = np.where(m[..., None, :, :], s, -np.inf)
    o = einsum("...hqk,...hkd->...hqd", softmax(s, axis=-3), v)
    return einsum("...hqd,hdm->...qm", o, p["w_o"].reshape(n_heads, -1, p["w_o"].shape[1])) + p["b_o"]

def multi_head_attention(x, params, n_heads, mask=None):
    return _attend(x, x, params, n_heads, mask)
