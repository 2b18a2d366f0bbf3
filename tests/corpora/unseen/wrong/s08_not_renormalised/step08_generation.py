import numpy as np
from exercises.step07_kv_cache import new_cache, attend_with_cache

def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    z = np.asarray(logits, float)
    if temperature == 0:
        return np.array(z.argmax(-1))
    V = z.shape[-1]
    k = V if top_k is None else min(top_k, V)
    order = np.argsort(-z, axis=-1, kind="stable")[..., :k]
    kept = np.zeros(z.shape, bool)
    np.put_along_axis(kept, order, True, axis=-1)
    p = np.exp((z - z.max(-1, keepdims=True)) / temperature)
    p = p / p.sum(-1, keepdims=True)
    c = np.cumsum(np.where(kept, p, 0), -1)
    ids = np.where(kept, np.arange(V), -1)
    ok = c > np.asarray(u)[..., None]
    return np.array(np.where(ok.any(-1), ok.argmax(-1), ids.max(-1)))

def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if temperature > 0 and u is None:
        raise ValueError("u")
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    out = np.empty(prompt.shape[:-1] + (T + n_new,), dtype=np.int64, order="F")
    out[..., :T] = prompt
    cache, a = new_cache(), 0
    for b in range(T, T + n_new):
        x = params["embedding"][out[..., a:b]] + params["position"][a:b]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        out[..., b] = sample_token(y[..., -1, :] @ params["w_out"], u if u is None else u[..., b - T], temperature, top_k)
        a = b
    return out
