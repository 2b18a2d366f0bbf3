# -*- coding: latin-1 -*-
# Zwei Durchgänge: erst das Maximum und die Summe, dann die Ausgabe. Kein laufendes Umrechnen.
import numpy as np

def partial_attention(q, k, v, mask=None):
    s = (q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)) / np.sqrt(q.shape[-1])
    if mask is not None: s[np.broadcast_to(~mask, s.shape)] = -np.inf
    m = s.max(axis=-1, keepdims=True)
    m[~np.isfinite(m)] = 0
    e = np.exp(s - m)
    z = e.sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        lse = (np.log(z) + m)[..., 0]
        out = np.nan_to_num(e / z) @ v
    return out, lse

def merge_attention(out_a, lse_a, out_b, lse_b):
    with np.errstate(invalid="ignore", divide="ignore"):
        lse = np.maximum(lse_a, lse_b) + np.log1p(np.exp(-np.abs(lse_a - lse_b)))
        lse = np.where(lse_a == -np.inf, lse_b, np.where(lse_b == -np.inf, lse_a, lse))
        wa = np.nan_to_num(np.exp(lse_a - lse), nan=0.0)
        wb = np.nan_to_num(np.exp(lse_b - lse), nan=0.0)
    return wa[..., None] * out_a + wb[..., None] * out_b, lse

def streaming_attention(q, k, v, block, causal=False):
    if block < 1: raise ValueError("block")
    T_q, T_k = q.shape[-2], k.shape[-2]
    rows = np.arange(T_k - T_q, T_k)[:, None]
    def scores():
        for i in range(0, T_k, block):
            s = q @ k[..., i:i + block, :].swapaxes(-1, -2) / np.sqrt(q.shape[-1])
            if causal: s = np.where(np.arange(i, i + s.shape[-1]) <= rows, s, -np.inf)
            yield slice(i, i + block), s
    m = np.full(q.shape[:-1] + (1,), -np.inf)
    for _, s in scores(): m = np.maximum(m, s.max(-1, keepdims=True))
    z, out = 0.0, 0.0
    for where, s in scores():
        e = np.exp(s - m)
        z = z + e.sum(-1, keepdims=True)
        out = out + e @ v[..., where, :]
    return (out / z).astype(v.dtype)
