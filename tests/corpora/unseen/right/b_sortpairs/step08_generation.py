import numpy as np

from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def kept_ids(row, k):
    pairs = sorted((-float(value), i) for i, value in enumerate(row))
    return np.array(sorted(i for _, i in pairs[:k]))


def sample_token(logits, u, temperature=1.0, top_k=None):
    V = logits.shape[-1]
    k = V if top_k is None else top_k
    if k < 1:
        raise ValueError("top_k")
    if temperature < 0:
        raise ValueError("temperature")
    out = np.empty(logits.shape[:-1], dtype=np.int64)
    for index in np.ndindex(out.shape):
        row = logits[index]
        if temperature == 0:
            out[index] = kept_ids(row, 1)[0]
            continue
        ids = kept_ids(row, k)
        z = row[ids].astype(np.float64)
        cdf = np.cumsum(softmax((z - z.max()) / temperature))
        where = np.searchsorted(cdf, np.asarray(u)[index], side="right")
        out[index] = ids[min(where, len(ids) - 1)]
    return out


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    n = prompt.shape[-1]
    if n + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    embed = lambda ids, a: params["embedding"][ids] + params["position"][a : a + ids.shape[-1]]
    weights = [params[w] for w in ("w_q", "w_k", "w_v")]
    text = np.concatenate([prompt, np.zeros(prompt.shape[:-1] + (n_new,), dtype=prompt.dtype)], axis=-1)
    cache, chunk, a = new_cache(), prompt, 0
    for i in range(n_new):
        y, cache = attend_with_cache(embed(chunk, a), cache, *weights)
        a += chunk.shape[-1]
        step = None if u is None else u[..., i]
        text[..., n + i] = sample_token(y[..., -1, :] @ params["w_out"], step, temperature, top_k)
        chunk = text[..., n + i : n + i + 1]
    return text
