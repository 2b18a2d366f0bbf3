import numpy as np

from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    logits = np.asarray(logits)
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    vocab = logits.shape[-1]
    ids = np.broadcast_to(np.arange(vocab), logits.shape)
    if top_k is not None:
        ids = np.argsort(-logits, axis=-1, kind="stable")[..., :min(top_k, vocab)]
    kept = np.take_along_axis(logits, ids, axis=-1)
    kept = kept - kept.max(axis=-1, keepdims=True)
    cdf = softmax(kept / temperature).cumsum(axis=-1)
    pick = (cdf <= np.asarray(u)[..., None]).sum(axis=-1)
    pick = np.minimum(pick, ids.shape[-1] - 1)
    return np.take_along_axis(ids, pick[..., None], axis=-1)[..., 0]


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    tokens = np.array(prompt)
    t = tokens.shape[-1]
    if temperature > 0 and u is None:
        raise ValueError("u is needed")
    if t + n_new > params["position"].shape[0]:
        raise ValueError("longer than T_max")
    cache = new_cache()
    fresh = tokens
    start = 0
    for i in range(n_new):
        n = fresh.shape[-1]
        x = params["embedding"][fresh] + params["position"][start:start + n]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        logits = y[..., -1, :] @ params["w_out"]
        u_i = None if u is None else np.asarray(u)[..., i]
        fresh = np.asarray(sample_token(logits, u_i, temperature, top_k))[..., None]
        tokens = np.concatenate([tokens, fresh], axis=-1)
        start += n
    return tokens
