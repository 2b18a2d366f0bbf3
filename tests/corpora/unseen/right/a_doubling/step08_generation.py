import numpy as np
from exercises.step07_kv_cache import attend_with_cache, new_cache


def check(temperature, top_k):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")


def sample_token(logits, u, temperature=1.0, top_k=None):
    check(temperature, top_k)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    shape, v = logits.shape[:-1], logits.shape[-1]
    z = logits.reshape(-1, v).astype(np.float64)
    w = np.reshape(np.asarray(u, np.float64), (-1, 1))
    rows = np.arange(len(z))[:, None]
    k = v if top_k is None else min(top_k, v)
    # the k best ids of every row, back in vocabulary order
    ids = np.sort(np.argsort(-z, axis=1, kind="stable")[:, :k], axis=1)
    e = np.exp((z[rows, ids] - z.max(axis=1, keepdims=True)) / temperature)
    c = np.cumsum(e / e.sum(axis=1, keepdims=True), axis=1)
    j = np.minimum(np.count_nonzero(c <= w, axis=1), k - 1)
    return ids[rows[:, 0], j].reshape(shape)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    total = prompt.shape[-1] + n_new
    if total > len(params["position"]):
        raise ValueError("n_new")
    check(temperature, top_k)
    if temperature > 0 and u is None:
        raise ValueError("u")
    text = np.empty(prompt.shape[:-1] + (total,), np.int64)
    text[..., :prompt.shape[-1]] = prompt
    cache = new_cache()
    for i in range(n_new):
        # the cache knows how far it is
        a, b = len(cache), prompt.shape[-1] + i
        x = params["embedding"][text[..., a:b]] + params["position"][a:b]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        text[..., b] = sample_token(y[..., -1, :] @ params["w_out"], u if u is None else u[..., i], temperature, top_k)
    return text
