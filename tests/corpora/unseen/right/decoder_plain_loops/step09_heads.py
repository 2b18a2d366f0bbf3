import math
import numpy as np

def split_heads(x, n_heads):
    d_model = x.shape[-1]
    if d_model % n_heads != 0:
        raise ValueError("n_heads does not divide d_model")
    d_head = d_model // n_heads
    T = x.shape[-2]
    out = np.zeros(x.shape[:-2] + (n_heads, T, d_head), dtype=x.dtype)
    for h in range(n_heads):
        for t in range(T):
            out[..., h, t, :] = x[..., t, h * d_head:(h + 1) * d_head]
    return out

def merge_heads(x):
    n_heads, T, d_head = x.shape[-3:]
    out = np.zeros(x.shape[:-3] + (T, n_heads * d_head), dtype=x.dtype)
    for h in range(n_heads):
        for t in range(T):
            out[..., t, h * d_head:(h + 1) * d_head] = x[..., h, t, :]
    return out

def one_head(q, k, v, allowed):
    """q (T, d), k (S, d), v (S, d), allowed (T, S)"""
    out = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        seen = [j for j in range(len(k)) if allowed[i, j]]
        if not seen:
            continue
        s = [float(np.dot(q[i].astype(float), k[j].astype(float))) / math.sqrt(q.shape[1]) for j in seen]
        top = max(s)
        e = [math.exp(a - top) for a in s]
        total = sum(e)
        for weight, j in zip(e, seen):
            out[i] += weight / total * v[j]
    return out

def heads_of(xq, xkv, params, n_heads, mask):
    q = split_heads(xq @ params["w_q"] + params["b_q"], n_heads)
    k = split_heads(xkv @ params["w_k"] + params["b_k"], n_heads)
    v = split_heads(xkv @ params["w_v"] + params["b_v"], n_heads)
    batch, T, S = xq.shape[:-2], xq.shape[-2], xkv.shape[-2]
    allowed = np.broadcast_to(True if mask is None else mask, batch + (T, S))
    out = np.zeros(batch + (n_heads, T, q.shape[-1]))
    for where in np.ndindex(*batch):
        for h in range(n_heads):
            out[where][h] = one_head(q[where][h], k[where][h], v[where][h], allowed[where])
    return merge_heads(out) @ params["w_o"] + params["b_o"]

def multi_head_attention(x, params, n_heads, mask=None):
    return heads_of(x, x, params, n_heads, mask)
