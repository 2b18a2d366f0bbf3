import numpy as np
from exercises.registry import state
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    problems = [name for name, bad in (("temperature", temperature < 0), ("top_k", top_k is not None and top_k < 1)) if bad]
    if problems:
        raise ValueError(", ".join(problems))
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    v = logits.shape[-1]
    k = v if top_k is None else min(top_k, v)
    # drop the worst v - k, the highest ids first on a tie: sort the reversed row
    backwards = np.argsort(logits[..., ::-1], axis=-1, kind="stable")[..., : v - k]
    dropped = np.zeros(logits.shape, bool)
    np.put_along_axis(dropped, v - 1 - backwards, True, axis=-1)
    e = np.exp((logits - logits.max(axis=-1, keepdims=True)) / temperature)
    e[dropped] = 0.0
    c = np.cumsum(e, axis=-1)
    c = c / c[..., -1:]
    below = np.count_nonzero(c <= np.expand_dims(u, -1), axis=-1)
    last = v - 1 - np.argmin(dropped[..., ::-1], axis=-1)
    return np.minimum(below, last)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    handle = new_cache()
    text = prompt.copy()
    for i in range(n_new):
        seen = sum(r[0].shape[-2] for r in state(handle)["rows"])
        x = params["embedding"][text[..., seen:]] + params["position"][seen:text.shape[-1]]
        y, handle = attend_with_cache(x, handle, params["w_q"], params["w_k"], params["w_v"])
        ids = sample_token(y[..., -1, :] @ params["w_out"], None if u is None else u[..., i], temperature, top_k)
        text = np.concatenate([text, np.asarray(ids)[..., None]], axis=-1)
    return text
