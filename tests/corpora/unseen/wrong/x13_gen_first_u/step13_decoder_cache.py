import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    return {"t": 0, "layers": [None] * n_layers}


def decoder_step(tokens_new, cache, params, n_heads):
    t0, n = cache["t"], tokens_new.shape[-1]
    if t0 + n > params["position"].shape[0]:
        raise ValueError("too many tokens")
    x = params["embedding"][tokens_new] + params["position"][t0 : t0 + n]
    layers = []
    for old, block in zip(cache["layers"], params["blocks"]):
        a = block["attention"]
        h = layer_norm(x, **block["ln_1"])
        q = split_heads(h @ a["w_q"] + a["b_q"], n_heads)
        k = split_heads(h @ a["w_k"] + a["b_k"], n_heads)
        v = split_heads(h @ a["w_v"] + a["b_v"], n_heads)
        if old is not None:
            k = np.concatenate([old[0], k], axis=-2)
            v = np.concatenate([old[1], v], axis=-2)
        layers.append((k, v))
        y = merge_heads(attention(q, k, v, causal_mask(n, k.shape[-2])))
        x = x + y @ a["w_o"] + a["b_o"]
        x = x + feed_forward(layer_norm(x, **block["ln_2"]), block["feed_forward"])
    x = layer_norm(x, **params["ln_f"])
    return x @ params["embedding"].T, {"t": t0 + n, "layers": layers}


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("too long")
    if temperature > 0 and u is None:
        raise ValueError("u")
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("temperature or top_k")
    cache = new_decoder_cache(len(params["blocks"]))
    tokens = new = prompt
    for i in range(n_new):
        logits, cache = decoder_step(new, cache, params, n_heads)
        nxt = sample_token(logits[..., -1, :], None if u is None else u[..., -1 - i], temperature, top_k)
        new = np.asarray(nxt)[..., None]
        tokens = np.concatenate([tokens, new], axis=-1)
    return tokens
