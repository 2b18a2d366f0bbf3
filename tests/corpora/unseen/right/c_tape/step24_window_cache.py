from __future__ import annotations
import numpy as np

class Ring:
    """A ring of `window` slots; position p lives in slot p % window."""
    def __init__(self, window: int) -> None:
        if window < 1: raise ValueError("window")
        self.window, self.seen = window, 0
        self.keys = self.values = None
        self.position = np.full(window, -1)

    def push(self, k, v):
        if self.keys is None:
            self.keys = np.zeros(k.shape[:-1] + (self.window, k.shape[-1]), k.dtype)
            self.values = np.zeros(v.shape[:-1] + (self.window, v.shape[-1]), v.dtype)
        slot = self.seen % self.window
        self.keys[..., slot, :], self.values[..., slot, :] = k, v
        self.position[slot] = self.seen
        self.seen += 1

    def attend(self, q):
        s = np.einsum("...d,...wd->...w", q, self.keys) / np.sqrt(q.shape[-1])
        s = np.where(self.position >= 0, s, -np.inf)
        e = np.exp(s - s.max(-1, keepdims=True))
        return np.einsum("...w,...wd->...d", e / e.sum(-1, keepdims=True), self.values)

def new_window_cache(window): return Ring(window)

def attend_with_window_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = x_new @ w_q, x_new @ w_k, x_new @ w_v
    y = np.empty(v.shape, v.dtype)
    for t in range(x_new.shape[-2]):
        cache.push(k[..., t, :], v[..., t, :])
        y[..., t, :] = cache.attend(q[..., t, :])
    return y, cache
