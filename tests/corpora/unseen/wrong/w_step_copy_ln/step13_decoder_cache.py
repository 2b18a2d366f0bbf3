import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    return {"length": 0, "layers": [None] * n_layers}


def _norm(x, p):
    m = x.mean(axis=-1, keepdims=True)
    return (x - m) / np.sqrt(((x - m) ** 2).mean(axis=-1, keepdims=True) + 1e-6) * p["gain"] + p["bias"]


def decoder_step(tokens_new, cache, params, n_heads):
    t_new, old = tokens_new.shape[-1], cache["length"]
    total = old + t_new
    if total > params["position"].shape[0]:
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][old:total]
    layers = []
    for block, past in zip(params["blocks"], cache["layers"]):
        a = block["attention"]
        h = _norm(x, block["ln_1"])
        q, k, v = (split_heads(linear(h, a["w_" + c], a["b_" + c]), n_heads) for c in "qkv")
        if past is not None:
            k = np.concatenate([past[0], k], axis=-2)
            v = np.concatenate([past[1], v], axis=-2)
        layers.append((k, v))
        x = x + linear(merge_heads(attention(q, k, v, causal_mask(t_new, total))), a["w_o"], a["b_o"])
        x = x + feed_forward(_norm(x, block["ln_2"]), block["feed_forward"])
    return _norm(x, params["ln_f"]) @ params["embedding"].T, {"length": total, "layers": layers}


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
