import warnings
import numpy as np
from exercises.step07_kv_cache import new_cache, attend_with_cache

def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature < 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k < 1")
    if temperature == 0:
        if u is not None:
            warnings.warn("u ignored")
        return np.argmax(logits, axis=-1)
    z = logits.astype(np.float64)
    keep = np.ones(z.shape, bool)
    if top_k is not None and top_k < z.shape[-1]:
        keep = np.argsort(np.argsort(-z, axis=-1, kind="stable"), axis=-1, kind="stable") < top_k
    w = np.exp((z - z.max(-1, keepdims=True)) / temperature) * keep
    c = np.cumsum(w, -1) / w.sum(-1, keepdims=True)
    ids = (c > np.asarray(u, dtype=float)[..., None]).argmax(-1)
    nothing = ~(c > np.asarray(u, dtype=float)[..., None]).any(-1)
    last = z.shape[-1] - 1 - keep[..., ::-1].argmax(-1)
    return np.where(nothing, last, ids)

def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("too long")
    if temperature > 0 and u is None:
        raise ValueError("u")
    out, new, at = prompt.copy(), prompt, 0
    cache = new_cache()
    for i in range(n_new):
        x = params["embedding"][new] + params["position"][at:at + new.shape[-1]]
        at += new.shape[-1]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        new = sample_token(y[..., -1, :] @ params["w_out"], None if u is None else u[..., i], temperature)[..., None]
        out = np.concatenate([out, new], axis=-1)
    return out
