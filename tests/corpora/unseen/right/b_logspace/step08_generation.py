import numpy as np

from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    a = np.asarray(logits, np.float64)
    V = a.shape[-1]
    kept = np.ones(a.shape, dtype=bool)
    if top_k is not None and top_k < V:
        ids = np.argsort(-a, axis=-1, kind="mergesort")[..., :top_k]
        kept = np.zeros(a.shape, dtype=bool)
        np.put_along_axis(kept, ids, True, axis=-1)
    tempered = (a - a.max(axis=-1, keepdims=True)) / temperature
    odds = np.exp(np.where(kept, tempered, -np.inf))  # relative to the best
    p = odds / odds.sum(axis=-1, keepdims=True)
    cdf = np.cumsum(p, axis=-1)
    ids = np.arange(V)
    first = np.min(np.where(cdf > np.asarray(u)[..., None], ids, V), axis=-1)
    last = np.max(np.where(kept, ids, -1), axis=-1)
    return np.minimum(first, last)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    out = np.empty(prompt.shape[:-1] + (T + n_new,), dtype=np.int64)
    out[..., :T] = prompt
    cache, seen = new_cache(), 0
    for n in range(T, T + n_new):
        x = params["embedding"][out[..., seen:n]] + params["position"][seen:n]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        seen = n
        un = None if u is None else u[..., n - T]
        out[..., n] = sample_token(np.matmul(y[..., -1, :], params["w_out"]), un, temperature, top_k)
    return out
