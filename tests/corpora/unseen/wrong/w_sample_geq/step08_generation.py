import numpy as np

from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    z = np.asarray(logits, dtype=np.float64)
    keep = np.ones(z.shape, dtype=bool)
    if top_k is not None:
        order = np.argsort(-z, axis=-1, kind="stable")
        rank = np.argsort(order, axis=-1, kind="stable")
        keep = rank < top_k
    z = (z - z.max(axis=-1, keepdims=True)) / temperature
    p = softmax(np.where(keep, z, -np.inf))
    over = np.cumsum(p, axis=-1) >= np.asarray(u)[..., None]
    last = z.shape[-1] - 1 - np.argmax(keep[..., ::-1], axis=-1)
    return np.where(over.any(axis=-1), np.argmax(over, axis=-1), last)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("prompt and n_new: longer than T_max")
    if temperature > 0 and u is None:
        raise ValueError("u is needed when temperature > 0")
    tokens = np.array(prompt)
    cache = new_cache()
    new, start = tokens, 0
    for i in range(n_new):
        x = params["embedding"][new] + params["position"][start : start + new.shape[-1]]
        start += new.shape[-1]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        logits = y[..., -1, :] @ params["w_out"]
        ids = sample_token(logits, None if u is None else u[..., i], temperature, top_k)
        new = np.asarray(ids)[..., None]
        tokens = np.concatenate([tokens, new], axis=-1)
    return tokens
