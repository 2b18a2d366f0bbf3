import numpy as np
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    z = np.asarray(logits, dtype=float)
    v = z.shape[-1]
    z = z - z.max(axis=-1, keepdims=True)
    last = np.full(z.shape[:-1], v - 1)
    if top_k is not None and top_k < v:
        order = np.argsort(-logits, axis=-1, kind="stable")
        last = order[..., :top_k].max(axis=-1)
        out = np.zeros(z.shape, bool)
        np.put_along_axis(out, order[..., top_k:], True, axis=-1)
        z = np.where(out, -np.inf, z)
    z = z / temperature
    z = z - np.logaddexp.reduce(z, axis=-1, keepdims=True)
    log_cdf = np.logaddexp.accumulate(z, axis=-1)
    with np.errstate(divide="ignore"):
        log_u = np.log(np.asarray(u, dtype=float))
    below = log_cdf <= log_u[..., None]
    return np.minimum(below.sum(axis=-1), last)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    t = prompt.shape[-1]
    if t + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    out = np.concatenate([prompt, np.zeros(prompt.shape[:-1] + (n_new,), prompt.dtype)], axis=-1)
    cache, begin = new_cache(), 0
    for end in range(t, t + n_new):
        x = params["embedding"][out[..., begin:end]] + params["position"][begin:end]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        step_u = None if u is None else u[..., end - t]
        out[..., end] = sample_token(y[..., -1, :] @ params["w_out"], step_u, temperature, top_k)
        begin = end
    return out
