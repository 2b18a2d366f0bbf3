import numpy as np
from exercises.step07_kv_cache import new_cache, attend_with_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    V = logits.shape[-1]
    kept = np.ones(logits.shape, dtype=bool)
    if top_k is not None and top_k < V:
        order = np.argsort(-logits, axis=-1, kind="stable")
        np.put_along_axis(kept, order[..., top_k:], False, axis=-1)
    p = np.zeros(logits.shape)
    p[...] = logits
    p -= p.max(axis=-1, keepdims=True)
    p /= temperature
    np.exp(p, out=p)
    p[~kept] = 0
    p /= p.sum(axis=-1, keepdims=True)
    cum = np.cumsum(p, axis=-1)
    out = np.full(logits.shape[:-1], -1)
    u = np.asarray(u)
    for token in range(V - 1, -1, -1):
        # first pass from the right: last kept id wins where nothing exceeds u
        fresh = (out < 0) & kept[..., token]
        out = np.where(fresh | ((cum[..., token] > u) & kept[..., token]), token, out)
    return out


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    end = T + n_new
    if end > params["position"].shape[0]:
        raise ValueError("prompt and n_new together exceed T_max")
    if temperature > 0 and u is None:
        raise ValueError("u")
    tokens = np.zeros(prompt.shape[:-1] + (end,), dtype=prompt.dtype)
    tokens[..., :T] = prompt
    cache = new_cache()
    seen = 0
    for t in range(T, end):
        chunk = params["embedding"][tokens[..., seen:t]] + params["position"][seen:t]
        y, cache = attend_with_cache(chunk, cache, params["w_q"], params["w_k"], params["w_v"])
        seen = t
        draw = u[..., t - T] if temperature > 0 else None
        tokens[..., t] = sample_token(y[..., -1, :] @ params["w_out"], draw, temperature, top_k)
    return tokens
