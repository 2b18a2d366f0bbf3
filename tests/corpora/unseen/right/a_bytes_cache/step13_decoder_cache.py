import json
import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step07_kv_cache import freeze, thaw
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    return freeze(np.array(0))


def decoder_step(tokens_new, cache, params, n_heads):
    count, *old = thaw(cache)
    a, b = int(count), int(count) + tokens_new.shape[-1]
    if b > params["position"].shape[0]:
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][a:b]
    kept = []
    for i, p in enumerate(params["blocks"]):
        w, h = p["attention"], layer_norm(x, **p["ln_1"])
        q, k, v = (split_heads(h @ w["w_" + c] + w["b_" + c], n_heads) for c in "qkv")
        if old:
            k, v = np.concatenate([old[2 * i], k], axis=-2), np.concatenate([old[2 * i + 1], v], axis=-2)
        kept += [k, v]
        x = x + merge_heads(attention(q, k, v, causal_mask(b - a, b))) @ w["w_o"] + w["b_o"]
        x = x + feed_forward(layer_norm(x, **p["ln_2"]), p["feed_forward"])
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T, freeze(np.array(b), *kept)


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    cache, pieces = new_decoder_cache(len(params["blocks"])), [prompt]
    for i in range(n_new):
        logits, cache = decoder_step(pieces[-1], cache, params, n_heads)
        pieces.append(sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)[..., None])
    return np.concatenate(pieces, axis=-1)
