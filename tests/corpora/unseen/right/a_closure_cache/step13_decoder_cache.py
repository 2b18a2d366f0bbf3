import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step07_kv_cache import remember
from exercises.step08_generation import _sampler, loop
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    layers = [remember() for _ in range(n_layers)]
    count = 0

    def cache(tokens_new, params, n_heads):
        nonlocal count
        t = tokens_new.shape[-1]
        if count + t > params["position"].shape[0]:
            raise ValueError("tokens_new: more than T_max")
        x = params["embedding"][tokens_new] + params["position"][count:count + t]
        count += t
        for extend, block in zip(layers, params["blocks"]):
            a = block["attention"]
            h = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
            head = lambda c: split_heads(h @ a["w_" + c] + a["b_" + c], n_heads)
            k, v = extend(head("k"), head("v"))
            x = x + merge_heads(attention(head("q"), k, v, causal_mask(t, count))) @ a["w_o"] + a["b_o"]
            x = x + feed_forward(layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"]), block["feed_forward"])
        return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T

    return cache


def decoder_step(tokens_new, cache, params, n_heads):
    return cache(tokens_new, params, n_heads), cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("prompt and n_new exceed T_max")
    if temperature > 0 and u is None:
        raise ValueError("u is needed")
    cache = new_decoder_cache(len(params["blocks"]))
    return loop(prompt, n_new, lambda ids: cache(ids, params, n_heads)[..., -1, :], _sampler(temperature, top_k), u)
