import numpy as np
from exercises.step16_attention_gradient import attention_backward

EINS = dict(optimize="greedy")

def layer_norm_backward(d_out, x, gain, eps=1e-5):
    n = x.shape[-1]
    centre = np.eye(n) - 1.0 / n
    c = x @ centre
    s2 = np.einsum("...i,...i->...", c, c) / n + eps
    J = (centre - np.einsum("...i,...j->...ij", c, c) / (n * s2)[..., None, None]) / np.sqrt(s2)[..., None, None]
    hat = c / np.sqrt(s2)[..., None]
    flat = lambda a: a.reshape(-1, n)
    return np.einsum("...i,i,...ij->...j", d_out, gain, J, **EINS), np.einsum("ti,ti->i", flat(d_out), flat(hat)), np.einsum("ti->i", flat(d_out))

def gelu_backward(d_out, x):
    c = (2 / np.pi) ** 0.5
    z = np.clip(c * (x + 0.044715 * x ** 3), -300, 300)
    sech2 = 1 / np.cosh(z) ** 2 if z.dtype == np.float64 else 1 / np.cosh(z.astype(np.float64)) ** 2
    return d_out * (0.5 + 0.5 * np.tanh(z) + 0.5 * x * sech2 * c * (1 + 0.134145 * x ** 2))

def _gelu(x): return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x ** 3)))

def _outer(a, b): return np.einsum("ni,no->io", a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1]))
def _total(a): return np.einsum("ni->i", a.reshape(-1, a.shape[-1]))

def feed_forward_backward(d_out, x, params):
    a = x @ params["w_in"] + params["b_in"]
    d_a = gelu_backward(np.einsum("...o,ho->...h", d_out, params["w_out"]), a)
    return np.einsum("...h,ih->...i", d_a, params["w_in"]), dict(w_in=_outer(x, d_a), b_in=_total(d_a), w_out=_outer(_gelu(a), d_out), b_out=_total(d_out))

def _split(x, n): return np.stack(np.split(x, n, axis=-1), axis=-3)
def _merge(x): return np.concatenate(list(np.moveaxis(x, -3, 0)), axis=-1)

def _forward(x, p, n, mask):
    q, k, v = (_split(x @ p["w_" + c] + p["b_" + c], n) for c in "qkv")
    s = np.einsum("...ic,...jc->...ij", q, k) / np.sqrt(q.shape[-1])
    m = np.broadcast_to(True, s.shape) if mask is None else np.broadcast_to(np.atleast_2d(mask)[..., None, :, :], s.shape)
    e = np.exp(s - s.max(-1, keepdims=True, where=m, initial=np.finfo(s.dtype).min), where=m, out=np.zeros_like(s))
    z = e.sum(-1, keepdims=True)
    return q, k, v, m, _merge(np.divide(e, z, out=np.zeros_like(e), where=z != 0) @ v)

def multi_head_attention_backward(d_out, x, params, n_heads, mask=None):
    q, k, v, m, y = _forward(x, params, n_heads, mask)
    g = {"w_o": _outer(y, d_out), "b_o": _total(d_out)}
    d_x = 0
    for c, d in zip("qkv", attention_backward(_split(d_out @ params["w_o"].T, n_heads), q, k, v, m)):
        d = _merge(d)
        g["w_" + c], g["b_" + c] = _outer(x, d), _total(d)
        d_x = d_x + d @ params["w_" + c].T
    return d_x, g

def decoder_block_backward(d_out, x, params, n_heads, mask):
    def ln(x, p):
        c = x - x.mean(-1, keepdims=True)
        return c / np.sqrt((c ** 2).mean(-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]
    a = ln(x, params["ln_1"])
    at = params["attention"]
    y = x + _forward(a, at, n_heads, mask)[-1] @ at["w_o"] + at["b_o"]
    b = ln(y, params["ln_2"])
    grads = dict.fromkeys(["ln_1", "ln_2", "attention", "feed_forward"])
    d, grads["feed_forward"] = feed_forward_backward(d_out, b, params["feed_forward"])
    d, gain, bias = layer_norm_backward(d, y, params["ln_2"]["gain"])
    grads["ln_2"] = dict(gain=gain, bias=bias)
    d_y = d_out + d
    d, grads["attention"] = multi_head_attention_backward(d_y, a, at, n_heads, mask)
    d, gain, bias = layer_norm_backward(d, x, params["ln_1"]["gain"])
    grads["ln_1"] = dict(gain=gain, bias=bias)
    return d_y + d, grads
