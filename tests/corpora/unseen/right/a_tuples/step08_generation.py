import numpy as np
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0 or (top_k or 1) < 1 or top_k == 0:
        raise ValueError("temperature or top_k")
    if temperature == 0:
        return logits.argmax(axis=-1)
    v = logits.shape[-1]
    kept = np.ones(logits.shape, bool)
    if top_k is not None and top_k < v:
        kth = -np.partition(-logits, top_k - 1, axis=-1)[..., top_k - 1:top_k]
        better, equal = logits > kth, logits == kth
        room = top_k - better.sum(axis=-1, keepdims=True)
        kept = better | (equal & (np.cumsum(equal, axis=-1) <= room))
    e = np.where(kept, np.exp((logits - logits.max(axis=-1, keepdims=True)) / temperature), 0.0)
    c = np.cumsum(e / e.sum(axis=-1, keepdims=True), axis=-1)
    over = c > np.expand_dims(u, -1)
    over |= np.arange(v) == np.where(kept, np.arange(v), -1).max(axis=-1, keepdims=True)
    return over.argmax(axis=-1)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    p = params
    if prompt.shape[-1] + n_new > p["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    seen, out, new = new_cache(), (prompt,), prompt
    for i in range(n_new):
        x = p["embedding"][new] + p["position"][seen.n:seen.n + new.shape[-1]]
        y, seen = attend_with_cache(x, seen, p["w_q"], p["w_k"], p["w_v"])
        new = sample_token(y[..., -1, :] @ p["w_out"], None if u is None else u[..., i], temperature, top_k)[..., np.newaxis]
        out += (new,)
    return np.concatenate(out, axis=-1)
