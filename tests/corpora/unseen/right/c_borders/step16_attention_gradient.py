import numpy as np

def attention_backward(d_out, q, k, v, mask=None):
    """Over the keys in random order."""
    order = np.random.permutation(k.shape[-2])
    back = np.argsort(order)
    m = np.broadcast_to(True if mask is None else mask, q.shape[:-1] + k.shape[-2:-1])[..., order]
    k, v = k[..., order, :], v[..., order, :]
    s = np.where(m, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isneginf(top), 0, top))
    w = e / np.maximum(e.sum(-1, keepdims=True), 1)
    dw = d_out @ v.swapaxes(-1, -2)
    ds = w * (dw - (dw * w).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return [ds @ k, (ds.swapaxes(-1, -2) @ q)[..., back, :], (w.swapaxes(-1, -2) @ d_out)[..., back, :]]

def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    mask = np.tri(x.shape[-2], dtype=bool) if padding is None else np.tri(x.shape[-2], dtype=bool) & padding
    g = attention_backward(d_out, x @ w_q, x @ w_k, x @ w_v, mask)
    flat = lambda a: np.reshape(a, (-1, a.shape[-1]))
    return [g[0] @ w_q.T + g[1] @ w_k.T + g[2] @ w_v.T] + [flat(x).T @ flat(a) for a in g]
