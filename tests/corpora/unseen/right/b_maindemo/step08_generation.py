import numpy as np

from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def keep_top(logits, k):
    """-inf everywhere but at the k largest, the lowest ids on a tie"""
    order = np.argsort(-logits, axis=-1, kind="stable")
    out = np.full(logits.shape, -np.inf)
    ids = order[..., :k]
    np.put_along_axis(out, ids, np.take_along_axis(logits, ids, axis=-1), axis=-1)
    return out


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    logits = np.asarray(logits, dtype=float)
    if temperature == 0:
        return logits.argmax(axis=-1)
    if top_k is not None:
        logits = keep_top(logits, top_k)
    p = softmax((logits - logits.max(axis=-1, keepdims=True)) / temperature)
    ids = (np.cumsum(p, axis=-1) <= np.expand_dims(u, -1)).sum(axis=-1)
    last = np.where(np.isneginf(logits), -1, np.arange(logits.shape[-1])).max(axis=-1)
    return np.minimum(ids, last)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T, T_max = prompt.shape[-1], params["position"].shape[0]
    if T + n_new > T_max:
        raise ValueError(f"prompt and n_new together exceed {T_max}")
    if temperature > 0 and u is None:
        raise ValueError("u is missing")
    tokens, cache, start = prompt.copy(), new_cache(), 0
    for i in range(n_new):
        new = tokens[..., start:]
        x = params["embedding"][new] + params["position"][start : tokens.shape[-1]]
        start = tokens.shape[-1]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        y = y[..., -1, :] @ params["w_out"]
        ids = sample_token(y, None if u is None else u[..., i], temperature=temperature, top_k=top_k)
        tokens = np.concatenate([tokens, ids[..., None]], axis=-1)
    return tokens


if __name__ == "__main__":
    print([int(sample_token(np.log([0.1, 0.2, 0.7]), u)) for u in (0.05, 0.15, 0.5)])
