import numpy as np

from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    logits = np.asarray(logits)
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    vocab = logits.shape[-1]
    keep = np.ones(logits.shape, bool)
    if top_k is not None and top_k < vocab:
        order = np.argsort(-logits, axis=-1, kind="stable")[..., :top_k]
        keep = np.zeros(logits.shape, bool)
        np.put_along_axis(keep, order, True, axis=-1)
    z = logits.astype(np.float64)
    z = (z - z.max(axis=-1, keepdims=True)) / temperature
    p = softmax(np.where(keep, z, -np.inf))
    cdf = np.cumsum(p, axis=-1)
    hit = (cdf > np.asarray(u)[..., None]) & keep
    first = np.argmax(hit, axis=-1)
    last = vocab - 1 - np.argmax(keep[..., ::-1], axis=-1)
    return np.where(hit.any(axis=-1), first, last)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if temperature > 0 and u is None:
        raise ValueError("u")
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("T_max")
    cache, seq, cur, pos = new_cache(), [prompt], prompt, 0
    for i in range(n_new):
        x = params["embedding"][cur] + params["position"][pos : pos + cur.shape[-1]]
        pos += cur.shape[-1]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        cur = np.asarray(sample_token((y @ params["w_out"])[..., -1, :], u if u is None else u[..., 0], temperature, top_k))[..., None]
        seq.append(cur)
    return np.concatenate(seq, -1)
