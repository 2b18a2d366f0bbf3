import numpy as np
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    match (temperature, top_k):
        case (t, _) if t < 0:
            raise ValueError("temperature")
        case (_, int() | np.integer() as k) if k < 1:
            raise ValueError("top_k")
        case (0, _):
            return np.argmax(logits, axis=-1)
        case (_, None):
            k = logits.shape[-1]
        case (_, k):
            k = min(k, logits.shape[-1])
    if logits.ndim > 1:
        return np.array([sample_token(z, w, temperature, k) for z, w in zip(logits, u)])
    ids = np.sort(np.argsort(-logits, kind="stable")[:k])
    p = np.exp((logits[ids] - logits.max()) / temperature)
    if (i := np.searchsorted(np.cumsum(p / p.sum()), u, "right")) < k:
        return ids[i]
    return ids[-1]


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    match params:
        case {"position": p} if prompt.shape[-1] + n_new > len(p):
            raise ValueError("n_new")
    match u:
        case None if temperature > 0:
            raise ValueError("u")
        case None:
            us = [None] * n_new
        case _:
            us = list(np.moveaxis(u, -1, 0))[:n_new]
    text, cache, a = prompt.copy(), new_cache(), 0
    for w in us:
        x = params["embedding"][text[..., a:]] + params["position"][a:(a := text.shape[-1])]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        ids = np.asarray(sample_token(y[..., -1, :] @ params["w_out"], w, temperature, top_k))
        text = np.concatenate([text, ids[..., None]], axis=-1)
    return text
