import numpy as np

from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return np.argmax(logits, -1)
    if top_k is not None and top_k < logits.shape[-1]:
        kth = np.sort(logits, axis=-1)[..., -top_k][..., None]
        logits = np.where(logits < kth, -np.inf, logits)
    c = np.cumsum(softmax(logits / temperature), axis=-1)
    n = (c <= np.asarray(u)[..., None]).sum(-1)
    kept = np.isfinite(logits)
    return np.minimum(n, logits.shape[-1] - 1 - np.argmax(kept[..., ::-1], -1))


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    prompt = np.asarray(prompt)
    t = prompt.shape[-1]
    if temperature > 0 and u is None:
        raise ValueError("u is needed")
    if t + n_new > params["position"].shape[0]:
        raise ValueError("too long")
    out = prompt
    cache = new_cache()
    new = prompt
    start = 0
    for i in range(n_new):
        x = params["embedding"][new] + params["position"][start : start + new.shape[-1]]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        start += new.shape[-1]
        logits = y[..., -1, :] @ params["w_out"]
        new = np.asarray(sample_token(logits, None if u is None else u[..., i], temperature, top_k))[..., None]
        out = np.concatenate([out, new], axis=-1)
    return out
