import numpy as np

def new_decoder_cache(n_layers):
    return [(None, None) for _ in range(n_layers)]

def _norm(x, p):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]

def decoder_step(tokens_new, cache, params, n_heads):
    E, P = params["embedding"], params["position"]
    old = 0 if cache[0][0] is None else cache[0][0].shape[-2]
    T = tokens_new.shape[-1]
    if old + T > P.shape[0]:
        raise ValueError("tokens_new")
    x = E[tokens_new] + P[old:old + T]
    future = np.arange(old + T)[None, :] > old + np.arange(T)[:, None]
    new_cache = []
    for block, (k_old, v_old) in zip(params["blocks"], cache):
        a = block["attention"]
        y = _norm(x, block["ln_1"])
        q, k, v = (y @ a["w_" + c] + a["b_" + c] for c in "qkv")
        if k_old is not None:
            k = np.concatenate([k_old, k], axis=-2)
            v = np.concatenate([v_old, v], axis=-2)
        new_cache.append((k, v))                              # not split: (..., S, d_model)
        q, k, v = (np.moveaxis(z.reshape(z.shape[:-1] + (n_heads, -1)), -2, -3) for z in (q, k, v))
        s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        s = np.where(future, -np.inf, s)
        e = np.exp(s - s.max(-1, keepdims=True))
        z = np.moveaxis(e / e.sum(-1, keepdims=True) @ v, -3, -2)
        x = x + z.reshape(x.shape) @ a["w_o"] + a["b_o"]
        f = block["feed_forward"]
        h = _norm(x, block["ln_2"]) @ f["w_in"] + f["b_in"]
        x = x + (0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h ** 3)))) @ f["w_out"] + f["b_out"]
    return _norm(x, params["ln_f"]) @ E.T, new_cache

def _pick(z, u, temperature, top_k):
    """one row of logits"""
    order = np.argsort(-z, kind="stable")
    if temperature == 0:
        return order[0]
    kept = np.sort(order[:len(z) if top_k is None else top_k])
    p = np.exp((z[kept] - z.max()) / temperature)
    c = np.cumsum(p / p.sum())
    return kept[min(np.searchsorted(c, u, side="right"), len(kept) - 1)]

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature > 0 and u is None:
        raise ValueError("u")
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    text = prompt.astype(np.int64)
    new, cache = text, new_decoder_cache(len(params["blocks"]))
    for i in range(n_new):
        logits, cache = decoder_step(new, cache, params, n_heads)
        new = np.empty(prompt.shape[:-1] + (1,), prompt.dtype)
        for where in np.ndindex(*prompt.shape[:-1]):
            new[where + (0,)] = np.asarray(_pick(np.asarray(logits[where + (-1,)], float), None if temperature == 0 else u[where + (i,)], temperature, top_k)).astype(prompt.dtype)
        text = np.concatenate([text, new], axis=-1)
    return text
