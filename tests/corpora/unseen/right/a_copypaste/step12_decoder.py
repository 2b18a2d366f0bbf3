import numpy as np
def causal(n, m):
    return np.arange(m)[None, :] <= (np.arange(n) + m - n)[:, None]
def softmax6(a):
    m = np.max(a, axis=-1, keepdims=True)
    m = np.where(m == -np.inf, 0.0, m)
    e = np.exp(a - m)
    s = e.sum(axis=-1, keepdims=True)
    return e / np.where(s == 0, 1.0, s)
def layernorm(x, p):
    mu = x.mean(axis=-1, keepdims=True)
    return (x - mu) / np.sqrt(((x - mu) ** 2).mean(axis=-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]
def g(x):
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x ** 3)))
def split(x, h):
    return x.reshape(x.shape[:-1] + (h, x.shape[-1] // h)).swapaxes(-2, -3)
def mha(x, p, h, mask):
    q, k, v = split(x @ p["w_q"] + p["b_q"], h), split(x @ p["w_k"] + p["b_k"], h), split(x @ p["w_v"] + p["b_v"], h)
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    y = softmax6(np.where(mask, s, -np.inf)) @ v
    y = y.swapaxes(-2, -3)
    return y.reshape(x.shape) @ p["w_o"] + p["b_o"]
def decoder_logits(tokens, params, n_heads, padding=None):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]: raise ValueError("tokens too long")
    x = params["embedding"][tokens] + params["position"][:T]
    m = causal(T, T)
    if padding is not None: m = m & padding
    m = m[..., None, :, :]
    for b in params["blocks"]:
        x = x + mha(layernorm(x, b["ln_1"]), b["attention"], n_heads, m)
        f = b["feed_forward"]
        x = x + (g(layernorm(x, b["ln_2"]) @ f["w_in"] + f["b_in"]) @ f["w_out"] + f["b_out"])
    return layernorm(x, params["ln_f"]) @ params["embedding"].T
