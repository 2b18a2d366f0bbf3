"""One structured record per token, in a buffer of window - 1; a window's keys for all new queries by stride tricks."""
import numpy as np

class WindowCache:
    __slots__ = ("window", "keys", "values")

def new_window_cache(window):
    if window < 1:
        raise ValueError("window")
    cache = WindowCache()
    cache.window, cache.keys, cache.values = int(window), None, None
    return cache

def attend_with_window_cache(x_new, cache, w_q, w_k, w_v):
    w = cache.window
    q, k, v = x_new @ w_q, x_new @ w_k, x_new @ w_v
    if cache.keys is None:                                # nothing yet: w - 1 slots marked with NaN
        cache.keys = np.full(k.shape[:-2] + (w - 1, k.shape[-1]), np.nan)
        cache.values = np.zeros(v.shape[:-2] + (w - 1, v.shape[-1]))
    keys, values = np.concatenate([cache.keys, k], -2), np.concatenate([cache.values, v], -2)
    K = np.lib.stride_tricks.sliding_window_view(keys, w, axis=-2)       # (..., T_new, d_k, w)
    V = np.lib.stride_tricks.sliding_window_view(values, w, axis=-2)
    s = np.einsum("...td,...tdw->...tw", q, K) / np.sqrt(q.shape[-1])
    s[np.isnan(s)] = -np.inf
    e = np.exp(s - s.max(-1, keepdims=True))
    y = np.einsum("...tw,...tdw->...td", e / e.sum(-1, keepdims=True), V)
    new = WindowCache()
    new.window, new.keys, new.values = w, keys[..., keys.shape[-2] - w + 1:, :], values[..., values.shape[-2] - w + 1:, :]
    return y, new
