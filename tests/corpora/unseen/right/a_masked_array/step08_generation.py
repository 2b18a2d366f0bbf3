import numpy as np
import numpy.ma as ma
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    v = logits.shape[-1]
    out = np.ones(logits.shape, bool)
    np.put_along_axis(out, np.argsort(-logits, axis=-1, kind="stable")[..., :top_k], False, axis=-1)
    z = ma.array((logits - logits.max(axis=-1, keepdims=True)) / temperature, mask=out)
    ids = ma.array(np.broadcast_to(np.arange(v), z.shape), mask=out)
    cdf = softmax(z.filled(-np.inf)).cumsum(axis=-1)
    enough = ma.array(ids, mask=out | (cdf <= np.asarray(u)[..., None]))
    return np.asarray(np.where(enough.count(axis=-1) > 0, enough.filled(v).min(axis=-1), ids.filled(-1).max(axis=-1)))


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    t = prompt.shape[-1]
    if t + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    # the unwritten part of the text is masked
    text = ma.masked_all(prompt.shape[:-1] + (t + n_new,), dtype=np.int64)
    text[..., :t] = prompt
    cache, a = new_cache(), 0
    for i in range(n_new):
        x = params["embedding"][text.data[..., a:t + i]] + params["position"][a:t + i]
        a = t + i
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        text[..., a] = sample_token(y[..., -1, :] @ params["w_out"], None if u is None else u[..., i], temperature, top_k)
    return text.filled(-1)
