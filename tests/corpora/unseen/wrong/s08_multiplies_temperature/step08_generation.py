import numpy as np
from exercises.step07_kv_cache import attend_with_cache, new_cache

def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    z = np.asarray(logits, dtype=float)
    if temperature == 0:
        return z.argmax(-1)
    V = z.shape[-1]
    rank = np.argsort(np.argsort(-z, axis=-1, kind="stable"), axis=-1)
    keep = rank < (V if top_k is None else top_k)
    p = np.where(keep, np.exp((z - z.max(-1, keepdims=True)) * temperature), 0.0)
    c = np.einsum("...j,ij->...i", p, np.tri(V)) / np.einsum("...j->...", p)[..., None]
    hit = (c > np.asarray(u)[..., None]) & keep
    last = V - 1 - np.argmax(keep[..., ::-1], axis=-1)
    return np.where(hit.any(-1), hit.argmax(-1), last)

def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    E, P = params["embedding"], params["position"]
    T = prompt.shape[-1]
    if T + n_new > len(P):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    out, new, start, cache = np.array(prompt), prompt, 0, new_cache()
    for step in range(n_new):
        x = E[new] + P[start:start + new.shape[-1]]
        start += new.shape[-1]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        logits = np.einsum("...d,dv->...v", y[..., -1, :], params["w_out"])
        new = sample_token(logits, None if u is None else u[..., step], temperature, top_k)[..., None]
        out = np.concatenate((out, new), axis=-1)
    return out
