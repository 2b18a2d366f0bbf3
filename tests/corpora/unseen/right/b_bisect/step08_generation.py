import math
from bisect import bisect_right
from itertools import accumulate

import numpy as np

from exercises.step07_kv_cache import attend_with_cache, new_cache


def _draw(row, u, temperature, top_k):
    ids = range(len(row))
    if temperature == 0:
        return max(ids, key=row.__getitem__)  # max keeps the first of equals
    if top_k is not None:
        ids = sorted(sorted(ids, key=row.__getitem__, reverse=True)[:top_k])
    top = max(row[i] for i in ids)
    weights = [math.exp((row[i] - top) / temperature) for i in ids]
    total = math.fsum(weights)
    cdf = list(accumulate(w / total for w in weights))
    return ids[min(bisect_right(cdf, u), len(cdf) - 1)]


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    rows = logits.reshape(-1, logits.shape[-1]).tolist()
    us = [None] * len(rows) if temperature == 0 else np.ravel(u).tolist()
    return np.array([_draw(r, x, temperature, top_k) for r, x in zip(rows, us)]).reshape(logits.shape[:-1])


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > len(params["position"]):
        raise ValueError("prompt")
    if temperature > 0 and u is None:
        raise ValueError("u")
    ids, cache, text = prompt, new_cache(), [prompt]
    position = iter(params["position"])
    for i in range(n_new):
        x = params["embedding"][ids] + np.array([next(position) for _ in range(ids.shape[-1])])
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        ids = sample_token(y[..., -1, :] @ params["w_out"], None if u is None else u[..., i], temperature, top_k)
        ids = ids[..., None]
        text.append(ids)
    return np.concatenate(text, axis=-1)
