import numpy as np

def layer_norm(x, gain, bias, eps=1e-5):
    m = x.mean(axis=-1, keepdims=True)
    s = ((x - m) ** 2).mean(axis=-1, keepdims=True)
    return (x - m) / np.sqrt(s + eps) * gain + bias

def gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))

def feed_forward(x, params):
    return gelu(x @ params["w_in"] + params["b_in"]) @ params["w_out"] + params["b_out"]

def _attend(x, p, n_heads, mask):
    T, d = x.shape[-2:]
    if d % n_heads:
        raise ValueError("n_heads")
    size = d // n_heads
    seen = np.ones((T, T), bool) if mask is None else np.broadcast_to(mask, x.shape[:-1] + (T,))
    q, k, v = x @ p["w_q"] + p["b_q"], x @ p["w_k"] + p["b_k"], x @ p["w_v"] + p["b_v"]
    z = np.zeros_like(q)
    for h in range(n_heads):
        c = slice(h * size, (h + 1) * size)
        s = q[..., c] @ k[..., c].swapaxes(-1, -2) / np.sqrt(size)
        s = np.where(seen, s, -np.inf)
        s = s - np.where(seen.any(-1, keepdims=True), s.max(-1, keepdims=True), 0)
        e = np.exp(s)
        z[..., c] = e @ v[..., c] / np.maximum(e.sum(-1, keepdims=True), 0.5)    # a live row has a sum of at least 1
    return z @ p["w_o"] + p["b_o"]

def decoder_block(x, params, n_heads, mask):
    x = layer_norm(x + _attend(x, params["attention"], n_heads, mask), params["ln_1"]["gain"], params["ln_1"]["bias"])
    x = layer_norm(x + feed_forward(x, params["feed_forward"]), params["ln_2"]["gain"], params["ln_2"]["bias"])
    return x
