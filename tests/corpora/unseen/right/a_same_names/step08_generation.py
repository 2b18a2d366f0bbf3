import numpy as np
from exercises.step07_kv_cache import attend_with_cache, new_cache
from exercises.step07_kv_cache import softmax as masked_softmax


def next_token_logits(token_ids, place, params, cache):
    """for one more piece of text"""
    x = params["embedding"][token_ids] + params["position"][place:place + token_ids.shape[-1]]
    y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
    return y[..., -1, :] @ params["w_out"], cache


def padding_mask(logits, top_k):
    """True where an id is kept"""
    order = np.argsort(-logits, axis=-1, kind="stable")
    mask = np.zeros(logits.shape, bool)
    np.put_along_axis(mask, order[..., :top_k], True, axis=-1)
    return mask


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return logits.argmax(axis=-1)
    keep = padding_mask(logits, top_k)
    z = (logits - logits.max(axis=-1, keepdims=True)) / temperature
    c = masked_softmax(z, keep).cumsum(axis=-1)
    last = (keep * np.arange(logits.shape[-1])).max(axis=-1)
    return np.minimum((c <= np.asarray(u)[..., None]).sum(axis=-1), last)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None, step=next_token_logits, start=new_cache):
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    cache, place, new, text = start(), 0, prompt, [prompt]
    for i in range(n_new):
        z, cache = step(new, place, params, cache)
        place += new.shape[-1]
        new = np.asarray(sample_token(z, None if u is None else u[..., i], temperature, top_k))[..., None]
        text.append(new)
    return np.concatenate(text, axis=-1)
