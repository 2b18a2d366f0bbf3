import heapq
import math

import numpy as np

from exercises.step07_kv_cache import attend_with_cache, new_cache


def _choose(row, u, temperature, k):
    if temperature == 0:
        return heapq.nsmallest(1, range(len(row)), key=lambda i: (-row[i], i))[0]
    heap = [(-x, i) for i, x in enumerate(row)]
    heapq.heapify(heap)
    best = -heap[0][0]
    kept = sorted(heapq.heappop(heap)[1] for _ in range(min(k, len(row))))
    mass = [math.exp((row[i] - best) / temperature) for i in kept]
    z = sum(mass)

    acc = 0.0
    for i, m in zip(kept, mass):
        acc += m / z
        if acc > u:
            return i
    return kept[-1]


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("temperature" if temperature < 0 else "top_k")
    k = logits.shape[-1] if top_k is None else top_k

    def walk(l, u):
        if isinstance(l[0], list):
            return [walk(a, b) for a, b in zip(l, u if u is not None else [None] * len(l))]
        return _choose(l, u, temperature, k)

    u = None if u is None or temperature == 0 else np.asarray(u).tolist()
    return np.array(walk(logits.tolist(), u))


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")

    def go(text, new, cache, i):
        if i == n_new:
            return text
        a = text.shape[-1] - new.shape[-1]
        x = params["embedding"][new] + params["position"][a : text.shape[-1]]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        ids = sample_token(y[..., -1, :] @ params["w_out"], None if u is None else u[..., i], temperature, top_k)
        ids = ids[..., None]
        return go(np.concatenate([text, ids], axis=-1), ids, cache, i + 1)

    return go(np.array(prompt), prompt, new_cache(), 0)
