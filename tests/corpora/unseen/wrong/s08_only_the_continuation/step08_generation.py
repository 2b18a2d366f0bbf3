from itertools import accumulate
import numpy as np
from exercises.step07_kv_cache import new_cache, attend_with_cache

def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    logits = np.asarray(logits, dtype=float)
    if logits.ndim > 1:
        us = [None] * len(logits) if u is None else u
        return np.array([sample_token(l, r, temperature, top_k) for l, r in zip(logits, us)])
    if temperature == 0:
        return np.argmax(logits)
    ranked = sorted(enumerate(logits.tolist()), key=lambda p: -p[1])[:top_k]   # sorted is stable
    best = ranked[0][1]
    kept = sorted((i, np.exp((z - best) / temperature)) for i, z in ranked)
    total = sum(w for _, w in kept)
    sums = accumulate(w / total for _, w in kept)
    return np.int64(next((i for (i, _), c in zip(kept, sums) if c > u), kept[-1][0]))

def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")

    def go(text, fresh, cache, i):
        if i == n_new:
            return text
        x = params["embedding"][fresh] + params["position"][text.shape[-1] - fresh.shape[-1]:text.shape[-1]]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        t = sample_token(y[..., -1, :] @ params["w_out"], None if u is None else u[..., i], temperature, top_k)
        t = np.expand_dims(t, -1)
        return go(np.concatenate([text, t], -1), t, cache, i + 1)

    return go(prompt.copy(), prompt, new_cache(), 0)[..., T:]
