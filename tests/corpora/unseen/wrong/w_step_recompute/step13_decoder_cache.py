import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    return {"length": 0, "layers": [None] * n_layers}


def decoder_step(tokens_new, cache, params, n_heads):
    from exercises.step12_decoder import decoder_logits

    old = cache["layers"][0]
    tokens = tokens_new if old is None else np.concatenate([old, tokens_new], axis=-1)
    logits = decoder_logits(tokens, params, n_heads)
    layers = [tokens] * len(cache["layers"])
    return logits[..., -tokens_new.shape[-1] :, :], {"length": tokens.shape[-1], "layers": layers}


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("prompt and n_new: longer than T_max")
    if temperature > 0 and u is None:
        raise ValueError("u is needed when temperature > 0")
    tokens = np.array(prompt)
    cache = new_decoder_cache(len(params["blocks"]))
    new = tokens
    for i in range(n_new):
        logits, cache = decoder_step(new, cache, params, n_heads)
        ids = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)
        new = np.asarray(ids)[..., None]
        tokens = np.concatenate([tokens, new], axis=-1)
    return tokens
