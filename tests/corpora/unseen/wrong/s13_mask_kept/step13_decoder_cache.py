import numpy as np
from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm

def new_decoder_cache(n_layers):
    return {"n_layers": n_layers, "used": 0, "store": None}

def _reserve(cache, batch, params, n_heads):
    t_max, d_model = params["position"].shape
    kind = np.result_type(params["embedding"], params["position"])
    # layer, key-or-value, batch..., head, time, feature
    cache["store"] = np.zeros((cache["n_layers"], 2) + batch + (n_heads, t_max, d_model // n_heads), kind)
    cache["mask"] = None

def decoder_step(tokens_new, cache, params, n_heads):
    start = cache["used"]
    stop = start + tokens_new.shape[-1]
    if stop > params["position"].shape[0]:
        raise ValueError("tokens_new")
    if cache["store"] is None:
        _reserve(cache, tokens_new.shape[:-1], params, n_heads)
    x = np.take(params["embedding"], tokens_new, axis=0) + params["position"][start:stop]
    if cache["mask"] is None or stop - start != cache["mask"].shape[0]:
        cache["mask"] = causal_mask(params["position"].shape[0])[start:stop]
    mask = cache["mask"][:, :stop]
    for layer in range(cache["n_layers"]):
        block = params["blocks"][layer]
        p = block["attention"]
        y = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        keys, values = cache["store"][layer]
        q = split_heads(linear(y, p["w_q"], p["b_q"]), n_heads)
        keys[..., start:stop, :] = split_heads(linear(y, p["w_k"], p["b_k"]), n_heads)
        values[..., start:stop, :] = split_heads(linear(y, p["w_v"], p["b_v"]), n_heads)
        z = attention(q, keys[..., :stop, :], values[..., :stop, :], mask)
        x = x + linear(merge_heads(z), p["w_o"], p["b_o"])
        x = x + feed_forward(layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"]), block["feed_forward"])
    cache["used"] = stop
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return np.matmul(x, params["embedding"].T), cache

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if u is None and temperature > 0:
        raise ValueError("u")
    text = np.empty(prompt.shape[:-1] + (T + n_new,), np.int64)
    text[..., :T] = prompt
    cache, read = new_decoder_cache(len(params["blocks"])), 0
    for end in range(T, T + n_new):
        logits, cache = decoder_step(text[..., read:end], cache, params, n_heads)
        read = end
        text[..., end] = sample_token(logits[..., -1, :], None if u is None else u[..., end - T], temperature, top_k)
    return text
