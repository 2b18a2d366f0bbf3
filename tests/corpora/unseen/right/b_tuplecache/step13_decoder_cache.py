from typing import NamedTuple

import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


class Cache(NamedTuple):
    length: int
    keys: tuple
    values: tuple


def new_decoder_cache(n_layers):
    return Cache(0, (None,) * n_layers, (None,) * n_layers)


def _join(old, new):
    return new if old is None else np.concatenate((old, new), axis=-2)


def decoder_step(tokens_new, cache, params, n_heads):
    t = tokens_new.shape[-1]
    end = cache.length + t
    if end > params["position"].shape[0]:
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][cache.length : end]
    keys, values = (), ()
    for block, old_k, old_v in zip(params["blocks"], cache.keys, cache.values):
        p = block["attention"]
        h = layer_norm(x, **block["ln_1"])
        q, k, v = (split_heads(h @ p["w_" + c] + p["b_" + c], n_heads) for c in "qkv")
        keys += (_join(old_k, k),)
        values += (_join(old_v, v),)
        y = attention(q, keys[-1], values[-1], causal_mask(t, end))
        x = x + merge_heads(y) @ p["w_o"] + p["b_o"]
        x = x + feed_forward(layer_norm(x, **block["ln_2"]), block["feed_forward"])
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T, Cache(end, keys, values)


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    if n_new == 0:
        return prompt.copy()
    cache = new_decoder_cache(len(params["blocks"]))
    logits, cache = decoder_step(prompt, cache, params, n_heads)
    text = prompt
    for i in range(n_new):
        ids = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)[..., None]
        text = np.concatenate((text, ids), axis=-1)
        if i + 1 < n_new:
            logits, cache = decoder_step(ids, cache, params, n_heads)
    return text
