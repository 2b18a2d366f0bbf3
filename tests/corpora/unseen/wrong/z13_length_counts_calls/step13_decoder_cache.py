import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    return {"length": 0, "layers": [{"k": None, "v": None} for _ in range(n_layers)]}


def decoder_step(tokens_new, cache, params, n_heads):
    tokens_new = np.asarray(tokens_new)
    t_new = tokens_new.shape[-1]
    old = cache["length"]
    stop = old + t_new
    if stop > params["position"].shape[0]:
        raise ValueError("more tokens than T_max")
    x = params["embedding"][tokens_new] + params["position"][old:stop]
    layers = []
    for block, layer in zip(params["blocks"], cache["layers"]):
        p = block["attention"]
        h = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        q = split_heads(linear(h, p["w_q"], p["b_q"]), n_heads)
        k = split_heads(linear(h, p["w_k"], p["b_k"]), n_heads)
        v = split_heads(linear(h, p["w_v"], p["b_v"]), n_heads)
        if layer["k"] is not None:
            k = np.concatenate([layer["k"], k], axis=-2)
            v = np.concatenate([layer["v"], v], axis=-2)
        layers.append({"k": k, "v": v})
        mask = causal_mask(t_new, k.shape[-2])
        x = x + linear(merge_heads(attention(q, k, v, mask)), p["w_o"], p["b_o"])
        x = x + feed_forward(layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"]), block["feed_forward"])
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return x @ params["embedding"].T, {"length": old + 1, "layers": layers}


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    tokens = np.array(prompt)
    if temperature > 0 and u is None:
        raise ValueError("u is needed")
    if tokens.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("longer than T_max")
    cache = new_decoder_cache(len(params["blocks"]))
    fresh = tokens
    for i in range(n_new):
        logits, cache = decoder_step(fresh, cache, params, n_heads)
        u_i = None if u is None else np.asarray(u)[..., i]
        fresh = np.asarray(sample_token(logits[..., -1, :], u_i, temperature, top_k))[..., None]
        tokens = np.concatenate([tokens, fresh], axis=-1)
    return tokens
