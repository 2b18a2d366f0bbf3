"""Sparse: only the pairs that the mask allows are ever computed."""
import numpy as np

def repeat_heads(x, n_repeats):
    out = np.empty(x.shape[:-3] + (x.shape[-3] * n_repeats,) + x.shape[-2:], x.dtype)
    for r in range(n_repeats):
        out[..., r::n_repeats, :, :] = x
    return out

def grouped_query_attention(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if n_heads % n_kv_heads != 0:
        raise ValueError("n_heads")
    lead, (T, _) = x.shape[:-2], x.shape[-2:]
    d = params["w_q"].shape[1] // n_heads
    q, k, v = ((x @ params["w_" + c]).reshape(lead + (T, -1, d)) for c in "qkv")
    if angles is not None:
        turn = np.exp(1j * np.asarray(angles))[:, None, :]
        def rotated(a):
            z = (a[..., :d // 2] + 1j * a[..., d // 2:]) * turn
            return np.concatenate([z.real, z.imag], -1)
        q, k = rotated(q), rotated(k)
    m = np.broadcast_to(True if mask is None else mask, lead + (T, T))
    *b, i, j = np.nonzero(m)
    row = np.ravel_multi_index((*b, i), lead + (T,))
    g = np.arange(n_heads) // (n_heads // n_kv_heads)
    left, right, value = q[(*b, i)], k[(*b, j)][:, g], v[(*b, j)][:, g]
    s = np.einsum("phd,phd->ph", left, right) / np.sqrt(d)
    if bias is not None:
        full = np.broadcast_to(bias, lead + (n_heads, T, T))
        s = s + np.moveaxis(full, -3, -1)[(*b, i, j)]
    n = int(np.prod(lead, dtype=int)) * T
    top = np.full((n, n_heads), -np.inf)
    np.maximum.at(top, row, s)
    e = np.exp(s - top[row])
    z, y = np.zeros((n, n_heads)), np.zeros((n, n_heads, d))
    np.add.at(z, row, e)
    np.add.at(y, row, e[..., None] * value)
    y = y / np.where(z == 0, 1, z)[..., None]
    return y.reshape(lead + (T, n_heads * d)) @ params["w_o"]
