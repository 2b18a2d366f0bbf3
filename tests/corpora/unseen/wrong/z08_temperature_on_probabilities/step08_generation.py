import numpy as np

from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    logits = np.asarray(logits)
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("temperature >= 0 and top_k >= 1, please")
    if temperature == 0:
        return np.argsort(logits, axis=-1, kind="stable")[..., -1]
    kept = np.ones(logits.shape, dtype=bool)
    if top_k is not None and top_k < logits.shape[-1]:
        best = np.argsort(-logits, axis=-1, kind="stable")[..., :top_k]
        kept[...] = False
        np.put_along_axis(kept, best, True, axis=-1)
    p = softmax(np.where(kept, logits, -np.inf)) / temperature
    p = p / p.sum(axis=-1, keepdims=True)
    hit = (np.cumsum(p, axis=-1) > np.asarray(u)[..., None]) & kept
    last = logits.shape[-1] - 1 - kept[..., ::-1].argmax(axis=-1)
    return np.where(hit.any(axis=-1), hit.argmax(axis=-1), last)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    tokens = np.array(prompt)
    t = tokens.shape[-1]
    if temperature > 0 and u is None:
        raise ValueError("u is needed")
    if t + n_new > params["position"].shape[0]:
        raise ValueError("longer than T_max")
    cache = new_cache()
    fresh = tokens
    start = 0
    for i in range(n_new):
        n = fresh.shape[-1]
        x = params["embedding"][fresh] + params["position"][start:start + n]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        logits = y[..., -1, :] @ params["w_out"]
        u_i = None if u is None else np.asarray(u)[..., i]
        fresh = np.asarray(sample_token(logits, u_i, temperature, top_k))[..., None]
        tokens = np.concatenate([tokens, fresh], axis=-1)
        start += n
    return tokens
