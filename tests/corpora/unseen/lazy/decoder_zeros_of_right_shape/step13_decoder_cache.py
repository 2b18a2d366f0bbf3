import numpy as np

def new_decoder_cache(n_layers):
    return None

def decoder_step(tokens_new, cache, params, n_heads):
    return np.zeros(tokens_new.shape + (params["embedding"].shape[0],)), cache

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    return np.zeros(prompt.shape[:-1] + (prompt.shape[-1] + n_new,), int)
