import numpy as jnp
from exercises.minijax import batched, scan, softmax_where
from exercises.step07_kv_cache import attend_with_cache, new_cache


def _categorical(logits, u, temperature, top_k):
    """one distribution, one uniform number"""
    v = logits.shape[-1]
    beats = (logits[None, :] > logits[:, None]) | ((logits[None, :] == logits[:, None]) & (jnp.arange(v)[None, :] < jnp.arange(v)[:, None])) if v <= 512 else None
    if beats is not None:
        rank = beats.sum(axis=1)
    else:
        rank = jnp.empty(v, int)
        rank[jnp.argsort(-logits, kind="stable")] = jnp.arange(v)
    keep = rank < top_k
    p = softmax_where((logits - logits.max()) / temperature, keep)
    cdf = jnp.cumsum(p)
    last = jnp.max(jnp.where(keep, jnp.arange(v), 0))
    return jnp.minimum(jnp.sum(cdf <= u), last)


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return jnp.argmax(logits, axis=-1)
    k = logits.shape[-1] if top_k is None else top_k
    return jnp.asarray(batched(lambda z, w: _categorical(z, w, temperature, k), logits.ndim - 1)(logits, jnp.asarray(u)))


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    t = prompt.shape[-1]
    if t + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")

    def embed(ids, start):
        return params["embedding"][ids] + params["position"][start:start + ids.shape[-1]]

    def step(state, i):
        ids, start, cache = state
        y, cache = attend_with_cache(embed(ids, start), cache, params["w_q"], params["w_k"], params["w_v"])
        new = sample_token(y[..., -1, :] @ params["w_out"], None if u is None else u[..., i], temperature, top_k)
        return (new[..., None], start + ids.shape[-1], cache), new[..., None]

    _, new = scan(step, (prompt, 0, new_cache()), jnp.arange(n_new))
    return jnp.concatenate([prompt, *new], axis=-1)
