import numpy as np
from exercises.model import Cache, Model, Past
from exercises.step08_generation import sample_token


def new_decoder_cache(n_layers):
    return Cache(tuple(Past() for _ in range(n_layers)))


def decoder_step(tokens_new, cache, params, n_heads):
    return Model.from_params(params, n_heads)(tokens_new, cache)


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    model = Model.from_params(params, n_heads)
    cache, text = model.empty(), np.array(prompt)
    for i in range(n_new):
        logits, cache = model(text[..., cache.length:], cache)
        ids = sample_token(logits[..., -1, :], u=None if u is None else u[..., i], temperature=temperature, top_k=top_k)
        text = np.concatenate([text, np.asarray(ids)[..., None]], axis=-1)
    return text
