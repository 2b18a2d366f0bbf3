import warnings
import numpy as np
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    print(f"sample_token {logits.shape=} {temperature=} {top_k=}")
    if temperature < 0:
        raise ValueError("temperature < 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k < 1")
    if temperature == 0:
        if u is not None:
            warnings.warn("u is ignored")
        return logits.argmax(axis=-1)
    v = logits.shape[-1]
    if top_k is None or top_k > v:
        top_k = v
    order = np.argsort(-logits, axis=-1, kind="stable")[..., :top_k]
    kept = (order[..., None, :] == np.arange(v)[:, None]).any(axis=-1) if v * top_k < 10**6 else None
    if kept is None:
        kept = np.zeros(logits.shape, bool)
        np.put_along_axis(kept, order, True, -1)
    p = softmax(np.where(kept, (logits - logits.max(axis=-1, keepdims=True)) / temperature, -np.inf))
    cdf = p.cumsum(axis=-1)
    print("cdf ends at", cdf[..., -1])
    ids = (cdf <= np.asarray(u)[..., None]).sum(axis=-1)
    ids = np.minimum(ids, order.max(axis=-1))
    print("ids", ids)
    return ids


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("too long in all")
    if temperature > 0 and u is None:
        raise ValueError("u is None")
    if temperature < 0:
        raise ValueError("temperature < 0")
    cache, text, first = new_cache(), prompt.copy(), 0
    for i in range(n_new):
        print("token", i, "of", n_new, end="\r")
        x = params["embedding"][text[..., first:]] + params["position"][first:text.shape[-1]]
        first = text.shape[-1]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        ids = sample_token((y @ params["w_out"])[..., -1, :], None if u is None else u[..., i], temperature, top_k)
        text = np.concatenate((text, ids[..., None]), axis=-1)
    return text
