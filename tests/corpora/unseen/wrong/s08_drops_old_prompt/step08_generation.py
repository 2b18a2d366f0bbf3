import numpy as np
from exercises.step07_kv_cache import attend_with_cache, new_cache

def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0 or not (top_k is None or top_k >= 1):
        raise ValueError("temperature, top_k")
    z = np.asarray(logits, np.float64)
    if temperature == 0:
        return z.argmax(-1)
    V = z.shape[-1]
    order = np.argsort(-z, axis=-1, kind="stable")[..., :top_k]
    keep = np.zeros(z.shape, bool)
    np.put_along_axis(keep, order, True, -1)
    z = np.where(keep, (z - z.max(-1, keepdims=True)) / temperature, -np.inf)
    log_cdf = np.logaddexp.accumulate(z, axis=-1)
    cdf = np.exp(log_cdf - log_cdf[..., -1:])
    above = cdf > np.asarray(u)[..., None]
    last = (np.arange(V) * keep).max(-1)
    return np.where(above.any(-1), above.argmax(-1), last)

def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    p = params
    room = p["position"].shape[0] - n_new
    if prompt.shape[-1] > room > 0:
        prompt = prompt[..., -room:]
    if u is None and temperature > 0:
        raise ValueError("u")
    out, cache, fed = prompt.copy(), new_cache(), 0
    while n_new:
        x = p["embedding"][out[..., fed:]] + p["position"][fed:out.shape[-1]]
        fed = out.shape[-1]
        y, cache = attend_with_cache(x, cache, p["w_q"], p["w_k"], p["w_v"])
        draw = None if u is None else u[..., u.shape[-1] - n_new]
        t = sample_token(y[..., -1, :] @ p["w_out"], draw, temperature, top_k)
        out = np.concatenate((out, t[..., None]), -1)
        n_new -= 1
    return out
