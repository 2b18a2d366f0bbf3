import math

import numpy as np

from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None:
        if top_k < 1:
            raise ValueError("top_k")
    if logits.ndim > 1:
        out = []
        for b in range(logits.shape[0]):
            out.append(sample_token(logits[b], None if u is None else u[b], temperature, top_k))
        return np.array(out)
    V = logits.shape[0]
    kept = [True] * V
    if top_k is not None and top_k < V:
        kept = [False] * V
        for _ in range(top_k):
            best = -1
            for i in range(V):
                if not kept[i] and (best == -1 or logits[i] > logits[best]):
                    best = i
            kept[best] = True
    big = 0
    for i in range(V):
        if logits[i] > logits[big]:
            big = i
    if temperature == 0:
        return np.int64(big)
    total = 0.0
    for i in range(V):
        if kept[i]:
            total += math.exp((float(logits[i]) - float(logits[big])) / temperature)
    run, answer = 0.0, 0
    for i in range(V):
        if kept[i]:
            run += math.exp((float(logits[i]) - float(logits[big])) / temperature) / total
            answer = i
            if run > u:
                break
    return np.int64(answer)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    if n_new == 0:
        return prompt.copy()
    if prompt.ndim > 1:
        return np.array(
            [generate(prompt[b], n_new, params, temperature, top_k, None if u is None else u[b]) for b in range(len(prompt))]
        )
    cache, text, fed = new_cache(), [int(t) for t in prompt], 0
    for i in range(n_new):
        x = params["embedding"][text[fed:]] + params["position"][fed : len(text)]
        fed = len(text)
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        text.append(int(sample_token(y[-1] @ params["w_out"], None if u is None else u[i], temperature, top_k)))
    return np.array(text)
