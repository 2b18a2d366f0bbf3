import numpy as np
from exercises.checks import fits, over_batch, require
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache

legal = require(lambda a: a["temperature"] >= 0, "temperature < 0")
some = require(lambda a: a["top_k"] is None or a["top_k"] >= 1, "top_k < 1")
fed = require(lambda a: a["u"] is not None or a["temperature"] == 0, "u is missing")


@over_batch
def _sample(logits, u, temperature, top_k):
    out = np.empty(len(logits), int)
    for i, (z, w) in enumerate(zip(logits, u)):
        best = np.argsort(-z, kind="stable")[:top_k]
        p = np.zeros(len(z))
        p[best] = softmax((z[best] - z[best[0]]) / temperature)
        hit = np.flatnonzero(np.add.accumulate(p) > w)
        out[i] = hit[0] if len(hit) else best.max()
    return out


@legal
@some
@fed
def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature == 0:
        return logits.argmax(axis=-1)
    return _sample(logits, np.asarray(u, float), temperature, top_k)


@fits("prompt")
@legal
@some
@fed
def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    text, cache, a = prompt, new_cache(), 0
    for i in range(n_new):
        b = text.shape[-1]
        x = params["embedding"][text[..., a:]] + params["position"][a:b]
        a = b
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        ids = sample_token(y[..., -1, :] @ params["w_out"], None if u is None else u[..., i], temperature, top_k)
        text = np.concatenate([text, np.asarray(ids)[..., None]], axis=-1)
    return text.copy()
