import numpy as np
def causal(n, m):
    return np.arange(m)[None, :] <= (np.arange(n) + m - n)[:, None]
def sm4(z):
    mx = np.max(z, axis=-1, keepdims=True)
    e = np.exp(z - mx)
    return e / e.sum(axis=-1, keepdims=True)
def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0: raise ValueError("temperature")
    if top_k is not None and top_k < 1: raise ValueError("top_k")
    if temperature == 0: return np.argmax(logits, axis=-1)
    V = logits.shape[-1]
    z = (logits - np.max(logits, axis=-1, keepdims=True)) / temperature
    last = np.full(logits.shape[:-1], V - 1)
    if top_k is not None and top_k < V:
        best = np.argsort(-logits, axis=-1, kind="stable")[..., :top_k]
        zz = np.full(z.shape, -np.inf)
        np.put_along_axis(zz, best, np.take_along_axis(z, best, axis=-1), axis=-1)
        z = zz
        last = best.max(axis=-1)
    c = np.cumsum(sm4(z), axis=-1)
    n = (c <= np.asarray(u)[..., None]).sum(axis=-1)
    return np.minimum(n, last)
def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]: raise ValueError("too long")
    if temperature > 0 and u is None: raise ValueError("u")
    toks = prompt.copy()
    K = V = None
    new, start = toks, 0
    for i in range(n_new):
        x = params["embedding"][new] + params["position"][start:start + new.shape[-1]]
        start += new.shape[-1]
        k, v = x @ params["w_k"], x @ params["w_v"]
        K = k if K is None else np.concatenate([K, k], axis=-2)
        V = v if V is None else np.concatenate([V, v], axis=-2)
        s = x @ params["w_q"] @ np.swapaxes(K, -1, -2) / np.sqrt(K.shape[-1])
        s = np.where(causal(x.shape[-2], K.shape[-2]), s, -np.inf)
        lg = (sm4(s) @ V)[..., -1, :] @ params["w_out"]
        nxt = sample_token(lg, u[..., i] if u is not None else None, temperature, top_k)
        new = np.asarray(nxt)[..., None]
        toks = np.concatenate([toks, new], axis=-1)
    return toks
