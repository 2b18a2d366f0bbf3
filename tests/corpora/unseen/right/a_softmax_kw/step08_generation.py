import numpy as np
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def _kept(logits, top_k):
    if top_k is None or top_k >= logits.shape[-1]:
        return np.ones(logits.shape, bool)
    kept = np.zeros(logits.shape, bool)
    if top_k > 64:                         # too many sweets
        np.put_along_axis(kept, np.argsort(-logits, axis=-1, kind="stable")[..., :top_k], True, axis=-1)
        return kept
    work = np.array(logits, float)
    live = np.ones(logits.shape, bool)
    for _ in range(top_k):                 # one after the other, like a child picking sweets
        best = np.where(live, work, -np.inf).argmax(axis=-1)[..., None]
        # where everything left is -inf, the lowest one not yet taken
        taken = np.take_along_axis(kept, best, axis=-1)
        best = np.where(taken, live.argmax(axis=-1)[..., None], best)
        np.put_along_axis(kept, best, True, axis=-1)
        np.put_along_axis(live, best, False, axis=-1)
    return kept


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("temperature, top_k")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    kept = _kept(logits, top_k)
    c = softmax(logits, where=kept, temperature=temperature).cumsum(axis=-1)
    more = c > np.asarray(u)[..., None]
    last = logits.shape[-1] - 1 - np.flip(kept, -1).argmax(axis=-1)
    return np.where(more.any(axis=-1), more.argmax(axis=-1), last)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    text, cache, start = prompt.copy(), new_cache(), 0
    for i in range(n_new):
        stop = text.shape[-1]
        x = params["embedding"][text[..., start:stop]] + params["position"][start:stop]
        start = stop
        y, cache = attend_with_cache(x, cache, w_q=params["w_q"], w_k=params["w_k"], w_v=params["w_v"])
        ids = sample_token(y[..., -1, :] @ params["w_out"], u=None if u is None else u[..., i], temperature=temperature, top_k=top_k)
        text = np.concatenate([text, ids[..., None]], axis=-1)
    return text
