import numpy as np
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache

def sample_token(logits, u, temperature=1.0, top_k=None):
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature < 0:
        raise ValueError("temperature")
    z = np.array(logits, dtype=np.float64)
    if temperature == 0:
        return z.argmax(axis=-1)
    kept = np.ones(z.shape, bool)
    if top_k is not None:
        # an id survives if fewer than top_k ids beat it (larger, or equal and earlier)
        a, b = z[..., :, None], z[..., None, :]
        earlier = np.tri(z.shape[-1], k=-1, dtype=bool)
        kept = ((b > a) | ((b == a) & earlier)).sum(-1) < top_k
        kept = np.broadcast_to(kept[(0,) * (kept.ndim - 1)], kept.shape)
    z = (z - z.max(-1, keepdims=True)) / temperature
    cum = softmax(np.where(kept, z, -np.inf)).cumsum(-1)
    # number of ids that do not exceed u = the answer, unless rounding ran off the end
    first = (cum <= np.asarray(u)[..., None]).sum(-1)
    last = np.where(kept, np.arange(z.shape[-1]), -1).max(-1)
    return np.minimum(first, last)

def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T, limit = prompt.shape[-1], params["position"].shape[0]
    if temperature > 0 and u is None:
        raise ValueError("u")
    if T + n_new > limit:
        raise ValueError("n_new")
    weights = {name: params[name] for name in ("w_q", "w_k", "w_v")}
    tokens = list(np.moveaxis(prompt, -1, 0))
    cache = new_cache()
    read = 0
    for step in range(n_new):
        while read < len(tokens):
            x = params["embedding"][tokens[read]] + params["position"][read]
            y, cache = attend_with_cache(x[..., None, :], cache, **weights)
            read += 1
        logits = y[..., 0, :] @ params["w_out"]
        tokens.append(sample_token(logits, u if u is None else u[..., step], temperature=temperature, top_k=top_k))
    return np.stack(tokens, axis=-1)
