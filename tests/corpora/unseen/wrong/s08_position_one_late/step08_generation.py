import numpy as np
from exercises.step07_kv_cache import new_cache, attend_with_cache

def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("temperature or top_k")
    logits = np.asarray(logits, dtype=float)
    if temperature == 0:
        return np.apply_along_axis(np.argmax, -1, logits)

    def pick(row, r):
        row = row.copy()
        if top_k is not None:
            row[np.lexsort((np.arange(row.size), -row))[top_k:]] = -np.inf
        p = np.exp((row - row.max()) / temperature)
        c = (p / p.sum()).cumsum()
        above = np.flatnonzero(c > r)
        return above[0] if above.size else np.flatnonzero(row > -np.inf)[-1]

    return np.vectorize(pick, signature="(v),()->()")(logits, u)

def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if temperature > 0 and u is None:
        raise ValueError("u")
    T, T_max = prompt.shape[-1], params["position"].shape[0]
    if T + n_new > T_max:
        raise ValueError("n_new")
    seq = np.copy(prompt)
    if n_new == 0:
        return seq
    W = [params[n] for n in ("w_q", "w_k", "w_v")]
    y, cache = attend_with_cache(params["embedding"][prompt] + params["position"][:T], new_cache(), *W)
    for i in range(n_new):
        r = None if temperature == 0 else u[..., i]
        tok = np.expand_dims(sample_token(y[..., -1, :] @ params["w_out"], r, temperature, top_k), -1)
        seq = np.concatenate([seq, tok], axis=-1)
        if i + 1 < n_new:
            y, cache = attend_with_cache(params["embedding"][tok] + params["position"][min(T + i + 1, T_max - 1)], cache, *W)
    return seq
