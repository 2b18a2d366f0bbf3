import numpy as np
from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache

def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        return np.argmax(logits, axis=-1)
    V = logits.shape[-1]
    flat = logits.reshape(-1, V)
    us = np.asarray(u).reshape(-1)
    ids = []
    for row, r in zip(flat, us):
        kept = list(range(V))
        if top_k is not None and top_k < V - 1:
            kept = sorted(sorted(kept, key=lambda i: (-row[i], i))[:top_k])
        p = softmax(row[kept] / temperature)
        c = 0.0
        choice = kept[-1]
        for i, pi in zip(kept, p):
            c += pi
            if c > r:
                choice = i
                break
        ids.append(choice)
    return np.array(ids, dtype=np.int64).reshape(logits.shape[:-1])

def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > len(params["position"]):
        raise ValueError("too long")
    if temperature > 0 and u is None:
        raise ValueError("u")
    tokens = np.array(prompt)
    cache = new_cache()
    pos = 0
    new = tokens
    for i in range(n_new):
        x = params["embedding"][new] + params["position"][pos:pos + new.shape[-1]]
        pos += new.shape[-1]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        logits = y[..., -1, :] @ params["w_out"]
        nxt = sample_token(logits, None if u is None else u[..., i], temperature, top_k)
        new = np.asarray(nxt)[..., None]
        tokens = np.concatenate([tokens, new], axis=-1)
    return tokens
