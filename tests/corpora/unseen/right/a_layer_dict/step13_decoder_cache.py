import numpy as np
from exercises.step08_generation import sample_token
from exercises.step12_decoder import Layer, run


def new_decoder_cache(n_layers):
    cache = {i: Layer({}) for i in range(n_layers)}
    cache["seen"] = 0
    return cache


def decoder_step(tokens_new, cache, params, n_heads):
    logits = run(tokens_new, params, n_heads, cache, cache["seen"])
    cache["seen"] += tokens_new.shape[-1]
    return logits, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    text = prompt.copy()
    cache = new_decoder_cache(len(params["blocks"]))
    while n_new:
        logits, cache = decoder_step(text[..., cache["seen"]:], cache, params, n_heads)
        ui = None if u is None else u[..., text.shape[-1] - prompt.shape[-1]]
        ids = sample_token(logits[..., -1, :], ui, temperature, top_k)
        text = np.concatenate([text, np.asarray(ids)[..., None]], axis=-1)
        n_new -= 1
    return text
