import numpy as np
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    z = logits - logits.max(axis=-1, keepdims=True)
    keep = np.ones(z.shape, bool)
    if top_k is not None and top_k < z.shape[-1]:
        at = np.argpartition(-logits, top_k - 1, axis=-1)[..., top_k - 1:top_k]
        limit = np.take_along_axis(logits, at, axis=-1)
        ties = logits == limit
        spare = top_k - (logits > limit).sum(axis=-1, keepdims=True)
        keep = (logits > limit) | (ties & (ties.cumsum(axis=-1) <= spare))
    p = softmax(np.where(keep, z / temperature, -np.inf))
    edge = np.cumsum(p, axis=-1)
    v = np.arange(z.shape[-1])
    candidates = np.where(edge > np.expand_dims(u, -1), v, np.where(keep, v, -1).max(axis=-1, keepdims=True))
    return candidates.min(axis=-1)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    cache = new_cache()
    text = prompt.copy()
    for i in range(n_new):
        a = cache._count
        x = params["embedding"][text[..., a:]] + params["position"][a:text.shape[-1]]
        cache._push(x @ params["w_k"], x @ params["w_v"])
        # only the last query is of interest
        y = cache._look(x[..., -1:, :] @ params["w_q"])
        ids = sample_token(y[..., 0, :] @ params["w_out"], None if u is None else u[..., i], temperature, top_k)
        text = np.concatenate([text, np.asarray(ids)[..., None]], axis=-1)
    return text
