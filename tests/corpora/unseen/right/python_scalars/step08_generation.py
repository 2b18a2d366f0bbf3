import bisect
import numpy as np
from exercises.step07_kv_cache import new_cache, attend_with_cache

def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if logits.ndim > 1:
        lead = logits.shape[:-1]
        us = np.zeros(lead) if u is None else np.asarray(u)
        return np.array([sample_token(logits[i], us[i], temperature, top_k) for i in np.ndindex(*lead)], dtype=int).reshape(lead)
    if temperature == 0:
        return int(logits.argmax())
    kept = sorted(sorted(range(len(logits)), key=lambda i: -logits[i])[:top_k])
    z = logits[kept].astype(float)
    p = np.exp((z - z.max()) / temperature)
    c = (np.cumsum(p) / p.sum()).tolist()
    return kept[min(bisect.bisect_right(c, float(u)), len(kept) - 1)]

def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    if prompt.ndim > 1:
        us = [None] * len(prompt) if u is None else u
        rows = [generate(p, n_new, params, temperature, top_k, r) for p, r in zip(prompt, us)]
        return np.array(rows).reshape(prompt.shape[:-1] + (T + n_new,))
    text = prompt.tolist()
    cache, read = new_cache(), 0
    for step in range(n_new):
        x = params["embedding"][text[read:]] + params["position"][read:len(text)]
        read = len(text)
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        text.append(sample_token(y[-1] @ params["w_out"], None if u is None else u[step], temperature, top_k))
    return np.array(text)
