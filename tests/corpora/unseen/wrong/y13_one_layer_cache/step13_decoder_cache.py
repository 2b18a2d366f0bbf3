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
    T, n = tokens_new.shape[-1], cache["n"]
    if n + T > params["position"].shape[0]:
        raise ValueError("T_max")
    h = params["embedding"][tokens_new] + params["position"][n : n + T]
    old = cache["layers"][0]
    for blk in params["blocks"]:
        p = blk["attention"]
        z = layer_norm(h, **blk["ln_1"])
        q = split_heads(z @ p["w_q"] + p["b_q"], n_heads)
        k = split_heads(z @ p["w_k"] + p["b_k"], n_heads)
        v = split_heads(z @ p["w_v"] + p["b_v"], n_heads)
        if old is not None:
            k = np.concatenate([old[0], k], -2)
            v = np.concatenate([old[1], v], -2)
        cache["layers"][0] = k, v
        h = h + merge_heads(attention(q, k, v, causal_mask(T, n + T))) @ p["w_o"] + p["b_o"]
        h = h + feed_forward(layer_norm(h, **blk["ln_2"]), blk["feed_forward"])
    cache["n"] = n + T
    return layer_norm(h, **params["ln_f"]) @ params["embedding"].T, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    prompt = np.asarray(prompt)
    if temperature > 0 and u is None:
        raise ValueError("u is needed")
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("too long")
    out, new = prompt, prompt
    cache = new_decoder_cache(len(params["blocks"]))
    for i in range(n_new):
        logits, cache = decoder_step(new, cache, params, n_heads)
        ui = None if u is None else u[..., i]
        new = np.asarray(sample_token(logits[..., -1, :], ui, temperature, top_k))[..., None]
        out = np.concatenate([out, new], axis=-1)
    return out
