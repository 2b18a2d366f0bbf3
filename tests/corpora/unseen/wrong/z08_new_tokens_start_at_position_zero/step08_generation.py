import numpy as np

from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache


def sample_token(logits, u, temperature=1.0, top_k=None):
    logits = np.asarray(logits)
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if temperature == 0:
        return logits.argmax(axis=-1)
    vocab = logits.shape[-1]
    kept = np.ones(logits.shape, bool)
    if top_k is not None and top_k < vocab:
        order = np.argsort(-logits, axis=-1, kind="stable")[..., :top_k]
        kept = np.zeros(logits.shape, bool)
        np.put_along_axis(kept, order, True, axis=-1)
    centred = logits - logits.max(axis=-1, keepdims=True)
    p = softmax(np.where(kept, centred / temperature, -np.inf))
    above = np.cumsum(p, axis=-1) > np.asarray(u)[..., None]
    first = (above & kept).argmax(axis=-1)
    last = vocab - 1 - kept[..., ::-1].argmax(axis=-1)
    return np.where(above.any(axis=-1), first, last)


def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    prompt = np.asarray(prompt)
    if temperature > 0 and u is None:
        raise ValueError("sampling needs u")
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("text longer than T_max")
    weights = params["w_q"], params["w_k"], params["w_v"]
    pieces = [prompt]
    cache = new_cache()
    for i in range(n_new):
        chunk = pieces[-1]
        begin = 0 if i == 0 else i - 1
        x = params["embedding"][chunk] + params["position"][begin:begin + chunk.shape[-1]]
        y, cache = attend_with_cache(x, cache, *weights)
        draw = None if u is None else np.asarray(u)[..., i]
        token = sample_token(y[..., -1, :] @ params["w_out"], draw, temperature, top_k)
        pieces.append(np.asarray(token)[..., None])
    return np.concatenate(pieces, axis=-1)
