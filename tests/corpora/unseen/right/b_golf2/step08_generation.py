import numpy as np
from exercises.step07_kv_cache import *
from exercises.step07_kv_cache import attend_with_cache as A, new_cache as N
def sample_token(logits, u, temperature=1.0, top_k=None):
    V = logits.shape[-1]; K = V if top_k is None else top_k
    if temperature < 0 or K < 1: raise ValueError("temperature, top_k")
    if not temperature: return logits.argmax(-1)
    o = (-logits).argsort(-1, kind="stable")[..., :K]; o.sort(-1)
    z = np.take_along_axis(logits, o, -1).astype(float); c = np.exp((z - z.max(-1, keepdims=1)) / temperature).cumsum(-1)
    i = (c / c[..., -1:] <= np.asarray(u)[..., None]).sum(-1)
    return np.take_along_axis(o, np.minimum(i, o.shape[-1] - 1)[..., None], -1)[..., 0]
def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    P = params["position"]; t = prompt.copy(); n = t.shape[-1]
    if n + n_new > len(P) or temperature > 0 and u is None: raise ValueError("prompt or u")
    c, s = N(), 0
    for i in range(n_new):
        e = t.shape[-1]; y, c = A(params["embedding"][t[..., s:]] + P[s:e], c, *(params["w_" + j] for j in "qkv")); s = e
        t = np.append(t, np.expand_dims(sample_token(y[..., -1, :] @ params["w_out"], u if u is None else u[..., i], temperature, top_k), -1), -1)
    return t
