"""Each layer is a coroutine that owns its keys and values; a step sends x through the chain."""
import itertools

import numpy as np


def _norm(x, p):
    c = x - x.mean(axis=-1)[..., None]
    return c / np.sqrt((c ** 2).mean(axis=-1) + 1e-5)[..., None] * p["gain"] + p["bias"]


def _layer():
    ks, vs, answer = [], [], None
    while True:
        x, p, h = yield answer
        a, f = p["attention"], p["feed_forward"]
        y = _norm(x, p["ln_1"])
        t, d = y.shape[-2:]
        dh = d // h
        q = (y @ a["w_q"] + a["b_q"]) / np.sqrt(dh)
        ks.append(y @ a["w_k"] + a["b_k"])
        vs.append(y @ a["w_v"] + a["b_v"])
        k, v = np.concatenate(ks, -2), np.concatenate(vs, -2)
        n = k.shape[-2]
        outs = []
        for lo in range(0, d, dh):
            c = np.s_[..., lo:lo + dh]
            s = q[c] @ k[c].swapaxes(-1, -2)
            s = np.where(np.tri(t, n, n - t) > 0, s, -np.inf)
            e = np.exp(s - s.max(-1, keepdims=True))
            outs.append(e / e.sum(-1, keepdims=True) @ v[c])
        x = x + np.concatenate(outs, -1) @ a["w_o"] + a["b_o"]
        g = _norm(x, p["ln_2"]) @ f["w_in"] + f["b_in"]
        g = 0.5 * g * (1 + np.tanh(np.sqrt(2 / np.pi) * (g + 0.044715 * g ** 3)))
        answer = x + g @ f["w_out"] + f["b_out"]


class _Cache:
    __slots__ = "layers", "clock"

    def __init__(self, n_layers):
        self.layers = [_layer() for _ in range(n_layers)]
        for one in self.layers:
            next(one)
        self.clock = 0


def new_decoder_cache(n_layers):
    return _Cache(n_layers)


def decoder_step(tokens_new, cache, params, n_heads):
    t = tokens_new.shape[-1]
    end = cache.clock + t
    if end > len(params["position"]):
        raise ValueError("T_max")
    x = params["embedding"][tokens_new] + params["position"][cache.clock:end]
    cache.clock = end
    for one, p in zip(cache.layers, params["blocks"]):
        x = one.send((x, p, n_heads))
    return _norm(x, params["ln_f"]) @ params["embedding"].T, cache


def _pick(row, u, temperature, top_k):
    """Plain Python over one row of logits."""
    ids = sorted(range(len(row)), key=lambda i: -row[i])           # sorted() is stable
    if temperature == 0:
        return ids[0]
    top = row[ids[0]]
    kept = sorted(ids[:top_k])
    mass = np.exp((np.array([row[i] for i in kept], float) - top) / temperature)
    mass = list(itertools.accumulate(mass / mass.sum()))
    return next((i for i, c in zip(kept, mass) if c > u), kept[-1])


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if temperature < 0 or (temperature > 0 and u is None):
        raise ValueError("temperature / u")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    t = prompt.shape[-1]
    if t + n_new > len(params["position"]):
        raise ValueError("n_new")
    out = np.zeros(prompt.shape[:-1] + (t + n_new,), np.int64)
    out[..., :t] = prompt
    cache, lo = new_decoder_cache(len(params["blocks"])), 0
    for i in range(n_new):
        y, cache = decoder_step(out[..., lo:t + i], cache, params, n_heads)
        lo = t + i
        for at in np.ndindex(*prompt.shape[:-1]):
            out[at + (lo,)] = _pick(y[at + (-1,)].tolist(), 0 if u is None else u[at + (i,)], temperature, top_k)
    return out
