import math
import numpy as np
from exercises.step01_projections import linear
from exercises.step07_kv_cache import new_cache, attend_with_cache


def _sample_row(row, u, temperature, top_k):
    V = len(row)
    order = sorted(range(V), key=lambda i: row[i])[::-1]
    if temperature == 0:
        return order[0]
    kept = order if top_k is None else order[:top_k]
    kept = sorted(kept)
    best = row[order[0]]
    weights = [math.exp((row[i] - best) / temperature) for i in kept]
    total = sum(weights)
    cumulative = 0.0
    for i, w in zip(kept, weights):
        cumulative += w / total
        if cumulative > u:
            return i
    return kept[-1]


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    logits = np.asarray(logits, dtype=float)
    rows = logits.reshape(-1, logits.shape[-1]).tolist()
    us = [None] * len(rows) if u is None else np.asarray(u, dtype=float).ravel().tolist()
    ids = [_sample_row(r, x, temperature, top_k) for r, x in zip(rows, us)]
    return np.array(ids, dtype=int).reshape(logits.shape[:-1])


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    prompt = np.asarray(prompt)
    T = prompt.shape[-1]
    emb, pos = np.asarray(params["embedding"]), np.asarray(params["position"])
    if T + n_new > len(pos):
        raise ValueError("n_new: longer than T_max")
    if temperature > 0 and u is None:
        raise ValueError("u is needed when temperature > 0")
    text = [prompt[..., t] for t in range(T)]
    cache = new_cache()
    for t in range(T + n_new - 1):
        if n_new == 0:
            break
        x = (emb[text[t]] + pos[t])[..., None, :]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        if t >= T - 1:
            s = t - (T - 1)
            now = None if u is None else np.asarray(u)[..., s]
            text.append(sample_token(linear(y, params["w_out"])[..., 0, :], now, temperature, top_k))
    return np.stack(text, axis=-1)
