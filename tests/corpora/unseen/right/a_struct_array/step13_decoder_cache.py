import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step07_kv_cache import join, records
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    cache = np.empty(n_layers + 1, dtype=object)        # all None
    cache[n_layers] = 0
    return cache


def decoder_step(tokens_new, cache, params, n_heads):
    a = cache[-1]
    b = a + tokens_new.shape[-1]
    if b > params["position"].shape[0]:
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][a:b]
    for i, p in enumerate(params["blocks"]):
        w, h = p["attention"], layer_norm(x, p["ln_1"]["gain"], p["ln_1"]["bias"])
        cache[i] = join(cache[i], records(h @ w["w_k"] + w["b_k"], h @ w["w_v"] + w["b_v"]))
        q, k, v = (split_heads(z, n_heads) for z in (h @ w["w_q"] + w["b_q"], cache[i]["k"], cache[i]["v"]))
        x = x + merge_heads(attention(q, k, v, causal_mask(b - a, b))) @ w["w_o"] + w["b_o"]
        x = x + feed_forward(layer_norm(x, p["ln_2"]["gain"], p["ln_2"]["bias"]), p["feed_forward"])
    cache[-1] = b
    return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    total = prompt.shape[-1] + n_new
    if total > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    cache = new_decoder_cache(len(params["blocks"]))
    out = np.empty((total,) + prompt.shape[:-1], np.int64)      # time first
    out[:prompt.shape[-1]] = np.moveaxis(prompt, -1, 0)
    for t in range(prompt.shape[-1], total):
        logits, cache = decoder_step(np.moveaxis(out[cache[-1]:t], 0, -1), cache, params, n_heads)
        out[t] = sample_token(logits[..., -1, :], None if u is None else u[..., t - prompt.shape[-1]], temperature, top_k)
    return np.moveaxis(out, 0, -1)
