import numpy as np
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def _ranks(z):
    """rank of each id, best first, lower id first on a tie; z is (n, V)"""
    n, v = z.shape
    row = np.repeat(np.arange(n), v)
    ids = np.tile(np.arange(v), n)
    order = np.lexsort((ids, -z.ravel(), row))
    ranks = np.empty(n * v, dtype=int)
    ranks[order] = ids
    return ranks.reshape(n, v)


def _bisect(cdf, u):
    """for each row the number of entries that do not exceed u, by bisection on all rows at once"""
    n, v = cdf.shape
    lo, hi = np.zeros(n, int), np.full(n, v)
    while np.any(lo < hi):
        mid = (lo + hi) // 2
        inside = lo < hi
        up = inside & (cdf[np.arange(n), np.minimum(mid, v - 1)] <= u)
        lo, hi = np.where(up, mid + 1, lo), np.where(inside & ~up, mid, hi)
    return lo


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    v = logits.shape[-1]
    z = np.asarray(logits, float).reshape(-1, v)
    ranks = _ranks(z)
    if temperature == 0:
        return np.nonzero(ranks == 0)[1].reshape(logits.shape[:-1])
    kept = ranks < (v if top_k is None else top_k)
    scaled = (z - z.max(axis=1, keepdims=True)) / temperature
    cdf = np.cumsum(softmax(np.where(kept, scaled, -np.inf)), axis=1)
    last = np.where(kept, np.arange(v), 0).max(axis=1)
    return np.minimum(_bisect(cdf, np.ravel(u)), last).reshape(logits.shape[:-1])


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    t = prompt.shape[-1]
    if t + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    text = np.pad(prompt, [(0, 0)] * (prompt.ndim - 1) + [(0, n_new)])
    cache, a = new_cache(), 0
    for b in range(t, t + n_new):
        x = params["embedding"][text[..., a:b]] + params["position"][a:b]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        w = None if u is None else u[..., b - t]
        text[..., b] = sample_token(y[..., -1, :] @ params["w_out"], w, temperature, top_k)
        a = b
    return text
