import numpy as np
from exercises.step07_kv_cache import attend_with_cache, new_cache


def _sample1(z, u, temperature, top_k):
    ids = np.arange(z.size)
    if top_k < z.size:
        ids = np.sort(np.argsort(-z, kind="stable")[:top_k])
    p = np.exp((z[ids] - z.max()) / temperature)
    over = np.flatnonzero(np.cumsum(p) / p.sum() > u)
    return ids[over[0] if over.size else -1]


_sample = np.vectorize(_sample1, signature="(v),(),(),()->()", otypes=[int])


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return np.apply_along_axis(np.argmax, -1, logits)
    return _sample(np.asarray(logits, float), u, temperature, logits.shape[-1] if top_k is None else top_k)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    text, cache, at = prompt.copy(), new_cache(), 0
    for i in range(n_new):
        x = params["embedding"][text[..., at:]] + params["position"][at:text.shape[-1]]
        at = text.shape[-1]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        new = sample_token(y[..., -1, :] @ params["w_out"], u if u is None else u[..., i], temperature, top_k)
        text = np.append(text, np.expand_dims(new, -1), axis=-1)
    return text
