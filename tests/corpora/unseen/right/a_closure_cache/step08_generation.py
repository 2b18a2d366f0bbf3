import numpy as np
from exercises.step07_kv_cache import attend_with_cache, new_cache


def _sampler(temperature, top_k):
    """a function (logits, u) -> ids"""
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be positive")
    if temperature == 0:
        return lambda logits, u: np.argmax(logits, axis=-1)

    def keep(row):
        v = row.shape[0]
        if top_k is None or top_k >= v:
            return np.arange(v)
        return np.sort(np.lexsort((np.arange(v), -row))[:top_k])

    def one(row, u):
        ids = keep(row)
        z = np.asarray(row[ids], dtype=np.float64)
        p = np.exp((z - z.max()) / temperature)
        cdf = np.cumsum(p / p.sum())
        return ids[min(int(np.searchsorted(cdf, u, side="right")), len(ids) - 1)]

    def many(logits, u):
        shape = logits.shape[:-1]
        us = np.broadcast_to(u, shape).ravel()
        rows = logits.reshape(-1, logits.shape[-1])
        return np.array([one(r, w) for r, w in zip(rows, us)], dtype=int).reshape(shape)

    return many


def sample_token(logits, u, temperature=1.0, top_k=None):
    return _sampler(temperature, top_k)(logits, u)


def _stepper(params):
    cache = new_cache()
    place = 0

    def step(ids):
        nonlocal cache, place
        n = ids.shape[-1]
        x = params["embedding"][ids] + params["position"][place:place + n]
        place += n
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        return y[..., -1, :] @ params["w_out"]

    return step


def loop(prompt, n_new, step, sample, u):
    pieces = [prompt]
    for i in range(n_new):
        ids = sample(step(pieces[-1]), None if u is None else u[..., i])
        pieces.append(np.expand_dims(ids, -1))
    return np.concatenate(pieces, axis=-1)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("prompt and n_new exceed T_max")
    if temperature > 0 and u is None:
        raise ValueError("u is needed")
    return loop(prompt, n_new, _stepper(params), _sampler(temperature, top_k), u)
