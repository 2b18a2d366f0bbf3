import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step07_kv_cache import KV
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


class DecoderCache(dict):
    """layer number -> KV"""

    length = 0

    def __missing__(self, layer):
        self[layer] = KV()
        return self[layer]


def new_decoder_cache(n_layers):
    return DecoderCache()


def decoder_step(tokens_new, cache, params, n_heads):
    start = cache.length
    stop = start + tokens_new.shape[-1]
    if stop > params["position"].shape[0]:
        raise ValueError("tokens_new: beyond T_max")
    x = params["embedding"][tokens_new] + params["position"][start:stop]
    for i, block in enumerate(params["blocks"]):
        att = block["attention"]
        y = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        q = split_heads(y @ att["w_q"] + att["b_q"], n_heads)
        cache[i].add(k=y @ att["w_k"] + att["b_k"], v=y @ att["w_v"] + att["b_v"])
        k, v = split_heads(cache[i]["k"], n_heads), split_heads(cache[i]["v"], n_heads)
        z = merge_heads(attention(q, k, v, causal_mask(stop - start, stop)))
        x = x + (z @ att["w_o"] + att["b_o"])
        y = layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"])
        x = x + feed_forward(y, block["feed_forward"])
    cache.length = stop
    return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    total = prompt.shape[-1] + n_new
    if total > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    out = [prompt]
    cache = new_decoder_cache(len(params["blocks"]))
    while sum(o.shape[-1] for o in out) < total:
        logits, cache = decoder_step(out[-1], cache, params, n_heads)
        uu = None if u is None else u[..., len(out) - 1]
        out.append(np.asarray(sample_token(logits[..., -1, :], uu, temperature, top_k)).reshape(prompt.shape[:-1] + (1,)))
    return np.concatenate(out, axis=-1)
