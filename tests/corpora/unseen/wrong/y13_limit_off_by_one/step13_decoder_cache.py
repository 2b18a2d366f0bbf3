import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    return {"n": 0, "layers": [None for _ in range(n_layers)]}


def decoder_step(tokens_new, cache, params, n_heads):
    tokens_new = np.asarray(tokens_new)
    t, n = tokens_new.shape[-1], cache["n"]
    if n + t > len(params["position"]):
        raise ValueError("too long")
    x = params["embedding"][tokens_new] + params["position"][n : n + t]
    layers = []
    for block, old in zip(params["blocks"], cache["layers"]):
        a = block["attention"]
        h = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        q = split_heads(linear(h, a["w_q"], a["b_q"]), n_heads)
        k = split_heads(linear(h, a["w_k"], a["b_k"]), n_heads)
        v = split_heads(linear(h, a["w_v"], a["b_v"]), n_heads)
        if old is not None:
            k = np.concatenate([old[0], k], axis=-2)
            v = np.concatenate([old[1], v], axis=-2)
        layers.append((k, v))
        o = merge_heads(attention(q, k, v, causal_mask(t, n + t)))
        x = x + linear(o, a["w_o"], a["b_o"])
        x = x + feed_forward(layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"]), block["feed_forward"])
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return x @ params["embedding"].T, {"n": n + t, "layers": layers}


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if temperature > 0 and u is None:
        raise ValueError("u")
    if prompt.shape[-1] + n_new >= len(params["position"]):
        raise ValueError("T_max")
    cache = new_decoder_cache(len(params["blocks"]))
    out = cur = prompt
    for i in range(n_new):
        logits, cache = decoder_step(cur, cache, params, n_heads)
        cur = np.asarray(sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k))[..., None]
        out = np.concatenate([out, cur], -1)
    return out
