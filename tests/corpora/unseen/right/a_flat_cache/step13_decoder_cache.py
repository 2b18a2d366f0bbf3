import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    return {"n_layers": n_layers, "n": 0, "data": None}


def decoder_step(tokens_new, cache, params, n_heads):
    t_max, d_model = params["position"].shape
    n, t = cache["n"], tokens_new.shape[-1]
    if n + t > t_max:
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][n:n + t]
    if cache["data"] is None:
        cache["data"] = np.zeros((cache["n_layers"], 2) + x.shape[:-2] + (t_max, d_model), x.dtype)
    data = cache["data"]
    mask = causal_mask(t, n + t)
    for layer, p in enumerate(params["blocks"]):
        a = p["attention"]
        h = layer_norm(x, p["ln_1"]["gain"], p["ln_1"]["bias"])
        data[layer, 0, ..., n:n + t, :] = h @ a["w_k"] + a["b_k"]
        data[layer, 1, ..., n:n + t, :] = h @ a["w_v"] + a["b_v"]
        k, v = (split_heads(data[layer, i, ..., :n + t, :], n_heads) for i in range(2))
        y = attention(split_heads(h @ a["w_q"] + a["b_q"], n_heads), k, v, mask)
        x = x + (merge_heads(y) @ a["w_o"] + a["b_o"])
        x = x + feed_forward(layer_norm(x, p["ln_2"]["gain"], p["ln_2"]["bias"]), p["feed_forward"])
    cache["n"] = n + t
    return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    t = prompt.shape[-1]
    if t + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    out = np.zeros(prompt.shape[:-1] + (t + n_new,), np.int64)
    out[..., :t] = prompt
    cache = new_decoder_cache(len(params["blocks"]))
    for now in range(t, t + n_new):
        logits, cache = decoder_step(out[..., cache["n"]:now], cache, params, n_heads)
        out[..., now] = sample_token(logits[..., -1, :], None if u is None else u[..., now - t], temperature, top_k)
    return out
