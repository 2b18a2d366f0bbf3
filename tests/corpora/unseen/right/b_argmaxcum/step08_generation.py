import numpy as np

from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if not temperature >= 0:
        raise ValueError("temperature must be >= 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be >= 1")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    z = np.array(logits, dtype=np.float64)
    if top_k is not None:
        # rank of id i = number of ids that come before it
        ahead = z[..., None, :] > z[..., :, None]
        i = np.arange(z.shape[-1])
        tie = (z[..., None, :] == z[..., :, None]) & (i[None, :] < i[:, None])
        z[(ahead | tie).sum(axis=-1) >= top_k] = -np.inf
    dead = np.isneginf(z)
    z -= z.max(axis=-1, keepdims=True)
    z /= temperature
    p = np.exp(z)
    p /= p.sum(axis=-1, keepdims=True)
    c = np.cumsum(p, axis=-1)
    # the last kept id always wins in the end
    V = z.shape[-1]
    last = V - 1 - np.argmax(~dead[..., ::-1], axis=-1)
    hit = (c > np.expand_dims(u, -1)) | (np.arange(V) == last[..., None])
    return np.argmax(hit, axis=-1)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    tokens = [prompt[..., t] for t in range(T)]
    cache = new_cache()
    for t in range(T + n_new - 1):
        x = params["embedding"][tokens[t]] + params["position"][t]
        y, cache = attend_with_cache(x[..., None, :], cache, params["w_q"], params["w_k"], params["w_v"])
        if t >= T - 1:
            logits = y[..., 0, :] @ params["w_out"]
            tokens.append(sample_token(logits, None if u is None else u[..., t - T + 1], temperature, top_k))
    return np.stack(tokens, axis=-1)
