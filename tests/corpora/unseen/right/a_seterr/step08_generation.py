import numpy as np
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return logits.argmax(-1)
    hidden = np.zeros(logits.shape)
    if top_k is not None:
        rank = np.argsort(-logits, axis=-1, kind="stable").argsort(-1)
        hidden = np.log((rank < top_k) * 1.0)
    p = softmax((logits - logits.max(-1, keepdims=True)) / temperature + hidden)
    c = p.cumsum(-1)
    # NaN where not enough; nanargmin of the ids that are enough
    ids = np.where(c > np.asarray(u)[..., None], np.arange(logits.shape[-1]), np.nan)
    last = np.where(hidden == 0, np.arange(logits.shape[-1]), -1).max(-1)
    return np.fmin.reduce(ids, axis=-1, initial=np.inf).clip(max=last).astype(int)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    t = prompt.shape[-1]
    if t + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    e, p = params["embedding"], params["position"]
    text = np.concatenate([prompt, np.zeros(prompt.shape[:-1] + (n_new,), prompt.dtype)], -1)
    cache, done = new_cache(), 0
    for i in range(n_new):
        y, cache = attend_with_cache(e[text[..., done:t + i]] + p[done:t + i], cache, params["w_q"], params["w_k"], params["w_v"])
        done = t + i
        text[..., done] = sample_token(y[..., -1, :] @ params["w_out"], u[..., i] if u is not None else u, temperature, top_k)
    return text
