"""Transposed keys, scaled already; one array for both."""
import numpy as np

def new_window_cache(window):
    if window < 1: raise ValueError("window")
    return np.array([window])

class Store:
    pass

def attend_with_window_cache(x_new, cache, w_q, w_k, w_v):
    if isinstance(cache, np.ndarray):
        store = Store()
        store.window, store.kv = int(cache[0]), None
    else:
        store = cache
    d, w = w_q.shape[1], store.window
    y = np.swapaxes(x_new @ np.hstack([w_q, w_k / np.sqrt(w_k.shape[1]), w_v]), -1, -2)
    q, new = y[..., :d, :], y[..., d:, :]
    kv = new if store.kv is None else np.concatenate([store.kv, new], axis=-1)
    n, t = q.shape[-1], kv.shape[-1]
    s = np.einsum("...cq,...ck->...qk", q, kv[..., :d, :])
    gap = np.arange(t - n, t)[:, None] - np.arange(t)
    s = np.where((gap >= 0) & (gap < w), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    out = np.einsum("...qk,...ck->...qc", p / p.sum(-1, keepdims=True), kv[..., d:, :])
    after = Store()
    after.window, after.kv = w, kv[..., max(0, t - w):].copy()
    return out, after
