import numpy as np
from exercises.step08_generation import sample_token
def causal(n, m):
    return np.arange(m)[None, :] <= (np.arange(n) + m - n)[:, None]
def softmax7(a):
    m = np.max(a, axis=-1, keepdims=True)
    e = np.exp(a - m)
    return e / e.sum(axis=-1, keepdims=True)
def layernorm(x, p):
    mu = x.mean(axis=-1, keepdims=True)
    return (x - mu) / np.sqrt(((x - mu) ** 2).mean(axis=-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]
def g(x):
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x ** 3)))
def split(x, h):
    return x.reshape(x.shape[:-1] + (h, x.shape[-1] // h)).swapaxes(-2, -3)
def new_decoder_cache(n_layers):
    return {"n": 0, "k": [None for _ in range(n_layers)], "v": [None for _ in range(n_layers)]}
def decoder_step(tokens_new, cache, params, n_heads):
    n, T = cache["n"], tokens_new.shape[-1]
    if n + T > params["position"].shape[0]: raise ValueError("too many tokens")
    x = params["embedding"][tokens_new] + params["position"][n:n + T]
    new = {"n": n + T, "k": [], "v": []}
    for i, b in enumerate(params["blocks"]):
        p = b["attention"]
        a = layernorm(x, b["ln_1"])
        q, k, v = split(a @ p["w_q"] + p["b_q"], n_heads), split(a @ p["w_k"] + p["b_k"], n_heads), split(a @ p["w_v"] + p["b_v"], n_heads)
        if cache["k"][i] is not None:
            k = np.concatenate([cache["k"][i], k], axis=-2)
            v = np.concatenate([cache["v"][i], v], axis=-2)
        new["k"].append(k)
        new["v"].append(v)
        s = np.where(causal(T, n + T), q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -np.inf)
        y = (softmax7(s) @ v).swapaxes(-2, -3)
        x = x + y.reshape(x.shape) @ p["w_o"] + p["b_o"]
        f = b["feed_forward"]
        x = x + g(layernorm(x, b["ln_2"]) @ f["w_in"] + f["b_in"]) @ f["w_out"] + f["b_out"]
    return layernorm(x, params["ln_f"]) @ params["embedding"].T, new
def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]: raise ValueError("too long")
    if temperature > 0 and u is None: raise ValueError("u")
    toks = prompt.copy()
    new = toks
    cache = new_decoder_cache(len(params["blocks"]))
    for i in range(n_new):
        lg, cache = decoder_step(new, cache, params, n_heads)
        new = np.asarray(sample_token(lg[..., -1, :], u[..., i] if u is not None else None, temperature, top_k))[..., None]
        toks = np.concatenate([toks, new], axis=-1)
    return toks
