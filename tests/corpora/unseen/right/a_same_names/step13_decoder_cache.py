from exercises.step07_kv_cache import causal_mask
from exercises.step08_generation import generate
from exercises.step12_decoder import forward


def new_decoder_cache(n_layers):
    return {"seen": 0, "pasts": [[] for _ in range(n_layers)]}


def decoder_step(tokens_new, cache, params, n_heads):
    mask = causal_mask(cache["seen"], tokens_new.shape[-1])
    logits = forward(tokens_new, params, n_heads, mask, cache["pasts"], cache["seen"])
    cache["seen"] += tokens_new.shape[-1]
    return logits, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    def step(new, place, params, cache):
        z, cache = decoder_step(new, cache, params, n_heads)
        return z[..., -1, :], cache

    return generate(prompt, n_new, params, temperature, top_k, u, step, lambda: new_decoder_cache(len(params["blocks"])))
