import numpy as np
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature is negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k is below 1")
    if temperature == 0:
        return np.argmax(logits, -1)
    V = logits.shape[-1]
    rows = np.array(logits, float).reshape(-1, V)
    us = np.array(u, float).reshape(-1)
    ids = np.zeros(len(rows), int)
    for r in range(len(rows)):
        row = rows[r]
        kept = np.arange(V)
        if top_k is not None:
            kept = np.sort(np.argsort(-row, kind="mergesort")[:top_k])
        z = row.take(kept)
        p = softmax((z - z.max()) / temperature)
        where = np.nonzero(np.cumsum(p) > us[r])[0]
        if len(where):
            ids[r] = kept[where[0]]
        else:
            ids[r] = kept[-1]
    return ids.reshape(logits.shape[:-1])


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new: too long in all")
    if temperature > 0 and u is None:
        raise ValueError("u is missing")
    text = np.zeros(prompt.shape[:-1] + (T + n_new,), prompt.dtype)
    text[..., :T] = prompt
    cache = new_cache()
    done = 0
    for t in range(T, T + n_new):
        x = params["embedding"].take(text[..., done:t], axis=0) + params["position"][done:t]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        logits = np.dot(y[..., -1, :], params["w_out"])
        if u is None:
            text[..., t] = sample_token(logits, None, temperature, top_k)
        else:
            text[..., t] = sample_token(logits, u[..., t - T], temperature, top_k)
        done = t
    return text
