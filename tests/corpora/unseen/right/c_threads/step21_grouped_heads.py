import asyncio
import numpy as np

def repeat_heads(x, n_repeats):
    return np.kron(x, np.ones((n_repeats, 1, 1), dtype=x.dtype))

async def head(s, mask, v):
    if mask is not None:
        s = np.ma.masked_array(s, mask=~np.broadcast_to(mask, s.shape)).filled(-np.inf)
    await asyncio.sleep(0)
    m = s.max(-1, keepdims=True)
    m[np.isneginf(m)] = 0
    e = np.exp(s - m)
    z = e.sum(-1, keepdims=True)
    z[z == 0] = 1
    return (e / z) @ v

async def all_heads(x, params, n_heads, n_kv_heads, mask, angles, bias):
    d = params["w_q"].shape[1] // n_heads
    cut = lambda y, h: y[..., h * d:(h + 1) * d]
    q, k, v = x @ params["w_q"], x @ params["w_k"], x @ params["w_v"]
    def turn(a):
        if angles is None:
            return a
        z = np.vectorize(complex)(a[..., :d // 2], a[..., d // 2:]) * np.exp(1j * angles)
        return np.concatenate([np.real(z), np.imag(z)], -1)
    jobs = []
    for h in range(n_heads):
        g = h * n_kv_heads // n_heads
        s = turn(cut(q, h)) @ turn(cut(k, g)).swapaxes(-1, -2) / np.sqrt(d)
        if bias is not None:
            b = bias
            if b.ndim >= 3:
                b = b[..., h if b.shape[-3] > 1 else 0, :, :]
            s = s + b
        jobs.append(head(s, mask, cut(v, g)))
    return np.concatenate(await asyncio.gather(*jobs), axis=-1) @ params["w_o"]

def grouped_query_attention(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    if n_heads % n_kv_heads:
        raise ValueError("n_heads % n_kv_heads")
    return asyncio.run(all_heads(x, params, n_heads, n_kv_heads, mask, angles, bias))
