import numpy as np

from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    logits = np.asarray(logits, dtype=float)
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    z = logits / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        order = np.argsort(logits, axis=-1, kind="stable")
        keep = np.zeros(logits.shape, bool)
        np.put_along_axis(keep, order[..., :top_k], True, axis=-1)
        z = np.where(keep, z, -np.inf)
    p = softmax(z)
    c = np.cumsum(p, axis=-1)
    hit = c > np.asarray(u)[..., None]
    last = p.shape[-1] - 1 - np.argmax((z > -np.inf)[..., ::-1], axis=-1)
    return np.where(hit.any(axis=-1), np.argmax(hit, axis=-1), last)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    t = prompt.shape[-1]
    if t + n_new > params["position"].shape[0]:
        raise ValueError("too long")
    if temperature > 0 and u is None:
        raise ValueError("u")
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("temperature or top_k")
    tokens, cache, start = prompt, new_cache(), 0
    for i in range(n_new):
        new = tokens[..., start:]
        x = params["embedding"][new] + params["position"][start:tokens.shape[-1]]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        logits = y[..., -1, :] @ params["w_out"]
        start = tokens.shape[-1]
        nxt = sample_token(logits, None if u is None else u[..., i], temperature, top_k)
        tokens = np.concatenate([tokens, np.asarray(nxt)[..., None]], axis=-1)
    return tokens
