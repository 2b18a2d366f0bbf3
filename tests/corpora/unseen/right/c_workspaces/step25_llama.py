"""Buffers that double, in one array (layer, key or value, ...); angles looked up in a table that grows."""
import numpy as np

class Angles:
    """A table of angles for each (d_head, base), shared by all calls: it is never written twice."""
    tables = {}
    @classmethod
    def rows(cls, start, stop, d, base):
        table = cls.tables.get((d, base))
        if table is None or len(table) < stop:
            table = np.outer(np.arange(max(64, 2 * stop)), float(base) ** (-np.arange(0, d, 2) / d))
            table.setflags(write=False)
            cls.tables[d, base] = table
        return table[start:stop]

def rms_norm(x, gain, eps=1e-5):
    y = np.square(x)
    scale = y.mean(axis=-1, keepdims=True)
    scale += eps
    np.sqrt(scale, out=scale)
    np.divide(x, scale, out=y)
    y *= gain
    return y

def swiglu(x, params):
    gate = x @ params["w_gate"]
    half = np.tanh(0.5 * gate)
    half += 1
    half *= 0.5
    gate *= half
    gate *= x @ params["w_up"]
    return gate @ params["w_down"]

def turned(x, angles):
    if angles is None:
        return x
    rot = np.exp(1j * angles)
    h = x.shape[-1] // 2
    z = (x[..., :h] + 1j * x[..., h:]) * rot
    return np.concatenate([z.real, z.imag], axis=-1).astype(x.dtype)

def by_head(y, n):
    return y.reshape(*y.shape[:-1], n, y.shape[-1] // n).swapaxes(-2, -3)

def mix(q, k, v, mask):
    """Groups by broadcasting: (..., g, r, T, d) against (..., g, 1, S, d)."""
    *b, h, t, d = q.shape
    g = k.shape[-3]
    s = q.reshape(*b, g, h // g, t, d) @ k[..., :, None, :, :].swapaxes(-1, -2)
    s = s / np.sqrt(d).astype(q.dtype)
    if mask is not None:
        mask = np.asarray(mask)
        mask = mask.reshape((1,) * max(0, 2 - mask.ndim) + mask.shape)[..., None, None, :, :]
        np.copyto(s, -np.inf, where=~mask)
    m = s.max(-1, keepdims=True)
    m[m == -np.inf] = 0
    s -= m
    np.exp(s, out=s)
    z = s.sum(-1, keepdims=True)
    z[z == 0] = 1
    s /= z
    y = (s @ v[..., :, None, :, :]).reshape(*b, h, t, d).swapaxes(-2, -3)
    return y.reshape(*b, t, h * d)

def llama_block(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    a = params["attention"]
    h = rms_norm(x, params["norm_1"], eps)
    q, k = turned(by_head(h @ a["w_q"], n_heads), angles), turned(by_head(h @ a["w_k"], n_kv_heads), angles)
    y = x + mix(q, k, by_head(h @ a["w_v"], n_kv_heads), mask) @ a["w_o"]
    y += swiglu(rms_norm(y, params["norm_2"], eps), params["feed_forward"])
    return y

def llama_logits(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    return llama_step(tokens, new_llama_cache(len(params["blocks"])), params, n_heads, n_kv_heads, base=base, eps=eps)[0]

def new_llama_cache(n_layers):
    return {"layers": n_layers, "used": 0, "buffer": None}

def llama_step(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    x = params["embedding"][tokens_new]
    start, stop = cache["used"], cache["used"] + tokens_new.shape[-1]
    d = params["blocks"][0]["attention"]["w_q"].shape[1] // n_heads
    old = cache["buffer"]
    if old is None or old.shape[-2] < stop:
        buffer = np.zeros((cache["layers"], 2, *tokens_new.shape[:-1], n_kv_heads, max(16, 2 * stop), d), x.dtype)
        if old is not None:
            buffer[..., :start, :] = old[..., :start, :]
        cache["buffer"] = buffer
    angles = Angles.rows(start, stop, d, base)
    mask = np.arange(stop) <= np.arange(start, stop)[:, None]
    for p, store in zip(params["blocks"], cache["buffer"]):
        a, h = p["attention"], rms_norm(x, p["norm_1"], eps)
        store[0, ..., start:stop, :] = turned(by_head(h @ a["w_k"], n_kv_heads), angles)
        store[1, ..., start:stop, :] = by_head(h @ a["w_v"], n_kv_heads)
        q = turned(by_head(h @ a["w_q"], n_heads), angles)
        x = x + mix(q, store[0, ..., :stop, :], store[1, ..., :stop, :], mask) @ a["w_o"]
        x = x + swiglu(rms_norm(x, p["norm_2"], eps), p["feed_forward"])
    cache["used"] = stop
    return rms_norm(x, params["norm_f"], eps) @ params["w_out"], cache
