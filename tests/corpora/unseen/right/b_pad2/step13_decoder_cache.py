import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step07_kv_cache import PaddedCache
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    return {"n": 0, "layers": [PaddedCache() for _ in range(n_layers)]}


def decoder_step(tokens_new, cache, params, n_heads):
    n, t = cache["n"], tokens_new.shape[-1]
    if n + t > len(params["position"]):
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][n : n + t]
    for block, store in zip(params["blocks"], cache["layers"]):
        a = block["attention"]
        h = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        q, k, v = (split_heads(linear(h, a["w_" + c], a["b_" + c]), n_heads) for c in "qkv")
        store.push(k, v)
        mask = np.arange(store.k.shape[-2])[None, :] <= (n + np.arange(t))[:, None]
        x = x + linear(merge_heads(attention(q, store.k, store.v, mask)), a["w_o"], a["b_o"])
        x = x + feed_forward(layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"]), block["feed_forward"])
    cache["n"] = n + t
    return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > len(params["position"]):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    size = 1 << (T + n_new).bit_length()
    buf = np.zeros(prompt.shape[:-1] + (size,), dtype=np.int64)
    buf[..., :T] = prompt
    cache, a = new_decoder_cache(len(params["blocks"])), 0
    for b in range(T, T + n_new):
        logits, cache = decoder_step(buf[..., a:b], cache, params, n_heads)
        buf[..., b] = sample_token(logits[..., -1, :], None if u is None else u[..., b - T], temperature, top_k)
        a = b
    return buf[..., : T + n_new].copy()
