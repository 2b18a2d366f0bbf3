import numpy as np
from exercises.batching import back, flat
from exercises.step07_kv_cache import attend_with_cache, new_cache


def _one(z, u, temperature, top_k):
    kept = sorted(np.argsort(-z, kind="stable")[:top_k])
    p = np.exp((z[kept] - z.max()) / temperature)
    p = p / p.sum()
    total = 0.0
    for i, pi in zip(kept, p):
        total += pi
        if total > u:
            return i
    return kept[-1]


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    ids = [_one(z, w, temperature, top_k) for z, w in zip(flat(logits, 1), flat(np.asarray(u), 0))]
    return back(np.array(ids), logits.shape[:-1])


def _one_text(prompt, n_new, params, temperature, top_k, u):
    text, cache, a = [int(t) for t in prompt], new_cache(), 0
    for i in range(n_new):
        b = len(text)
        x = params["embedding"][text[a:]] + params["position"][a:b]
        a = b
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        text.append(int(sample_token(y[-1] @ params["w_out"], None if u is None else u[i], temperature, top_k)))
    return text


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    prompts = flat(prompt, 1)
    us = [None] * len(prompts) if u is None or n_new == 0 else flat(u, 1)
    texts = [_one_text(p, n_new, params, temperature, top_k, w) for p, w in zip(prompts, us)]
    return back(np.array(texts), prompt.shape[:-1])
