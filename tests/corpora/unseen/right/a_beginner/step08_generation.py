import math
import numpy as np
from exercises.step01_projections import linear
from exercises.step07_kv_cache import new_cache, attend_with_cache


def pick(numbers, u, temperature, top_k):
    # which ids may be taken?
    kept = list(range(len(numbers)))
    kept.sort(key=lambda i: (-numbers[i], i))
    if top_k is not None:
        kept = kept[:top_k]
    kept.sort()
    biggest = max(numbers)
    total = 0.0
    powers = {}
    for i in kept:
        powers[i] = math.exp((numbers[i] - biggest) / temperature)
        total += powers[i]
    so_far = 0.0
    for i in kept:
        so_far += powers[i] / total
        if so_far > u:
            return i
    return kept[-1]


def sample_token(logits, u, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature is negative!")
    if top_k is not None:
        if top_k < 1:
            raise ValueError("top_k is too small!")
    result = np.zeros(logits.shape[:-1], dtype=int)
    for index in np.ndindex(*logits.shape[:-1]):
        numbers = logits[index].tolist()
        if temperature == 0:
            result[index] = numbers.index(max(numbers))
        else:
            result[index] = pick(numbers, float(np.array(u)[index]), temperature, top_k)
    return result


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > len(params["position"]):
        raise ValueError("too long!")
    if temperature > 0 and u is None:
        raise ValueError("I need u!")
    text = np.zeros(prompt.shape[:-1] + (T + n_new,), dtype=int)
    text[..., :T] = prompt
    cache = new_cache()
    y = None
    for t in range(T + n_new):
        if t >= T:
            logits = linear(y[..., 0, :], params["w_out"])
            if u is None:
                text[..., t] = sample_token(logits, None, temperature, top_k)
            else:
                text[..., t] = sample_token(logits, u[..., t - T], temperature, top_k)
        if t < T + n_new - 1:
            x = params["embedding"][text[..., t]] + params["position"][t]
            x = np.expand_dims(x, -2)
            y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
    return text
