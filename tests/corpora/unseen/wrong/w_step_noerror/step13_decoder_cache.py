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
    t_new, old = tokens_new.shape[-1], cache["length"]
    total = old + t_new
    if t_new > params["position"].shape[0]:
        raise ValueError("tokens_new: longer than T_max")
    x = params["embedding"][tokens_new] + params["position"][np.arange(old, total) % len(params["position"])]
    mask = causal_mask(t_new, total)
    layers = []
    for block, past in zip(params["blocks"], cache["layers"]):
        a = block["attention"]
        h = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        q = split_heads(linear(h, a["w_q"], a["b_q"]), n_heads)
        k = split_heads(linear(h, a["w_k"], a["b_k"]), n_heads)
        v = split_heads(linear(h, a["w_v"], a["b_v"]), n_heads)
        if past is not None:
            k = np.concatenate([past[0], k], axis=-2)
            v = np.concatenate([past[1], v], axis=-2)
        layers.append((k, v))
        x = x + linear(merge_heads(attention(q, k, v, mask)), a["w_o"], a["b_o"])
        h = layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"])
        x = x + feed_forward(h, block["feed_forward"])
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return x @ params["embedding"].T, {"length": total, "layers": layers}


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
