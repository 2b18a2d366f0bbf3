from bisect import bisect_right
from heapq import nsmallest
from itertools import accumulate
import math
import numpy as np
from exercises.step07_kv_cache import attend_with_cache, new_cache


def _choose(row, u, temperature, k):
    ids = range(len(row)) if k is None or k >= len(row) else sorted(nsmallest(k, range(len(row)), key=lambda i: (-row[i], i)))
    ids = list(ids)
    top = max(row)
    e = [math.exp((row[i] - top) / temperature) for i in ids]
    z = math.fsum(e)
    c = list(accumulate(x / z for x in e))
    return ids[min(bisect_right(c, u), len(ids) - 1)]


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    shape = logits.shape[:-1]
    rows = logits.reshape(-1, logits.shape[-1]).tolist()
    if temperature == 0:
        ids = [row.index(max(row)) for row in rows]
    else:
        ids = [_choose(row, w, temperature, top_k) for row, w in zip(rows, np.ravel(u).tolist())]
    return np.array(ids, dtype=int).reshape(shape)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    uniforms = iter([None] * n_new if u is None else [u[..., i] for i in range(n_new)])
    text, fresh, cache = [prompt], prompt, new_cache()
    at = 0
    for w in uniforms:
        stop = at + fresh.shape[-1]
        x = params["embedding"][fresh] + params["position"][at:stop]
        at = stop
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        fresh = sample_token(y[..., -1, :] @ params["w_out"], w, temperature, top_k)[..., None]
        text.append(fresh)
    return np.concatenate(text, axis=-1)
