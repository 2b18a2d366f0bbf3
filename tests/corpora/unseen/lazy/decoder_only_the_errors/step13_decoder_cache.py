import numpy as np

def new_decoder_cache(n_layers):
    return [0]

def decoder_step(tokens_new, cache, params, n_heads):
    cache[0] += tokens_new.shape[-1]
    if cache[0] > params["position"].shape[0]:
        raise ValueError("tokens_new")
    return np.ones(tokens_new.shape + (params["embedding"].shape[0],)), cache

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0] or temperature > 0 and u is None:
        raise ValueError("n_new")
    return np.ones(prompt.shape[:-1] + (prompt.shape[-1] + n_new,), int)
