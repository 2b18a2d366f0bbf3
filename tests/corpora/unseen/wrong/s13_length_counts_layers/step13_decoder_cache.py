import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm

def new_decoder_cache(n_layers):
    return {"k": [None] * n_layers, "v": [None] * n_layers, "n": 0}

def decoder_step(tokens_new, cache, params, n_heads):
    lead, T = tokens_new.shape[:-1], tokens_new.shape[-1]
    n = cache["n"]
    if n + T > params["position"].shape[0]:
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new.reshape(-1, T)] + params["position"][n:n + T]
    for i, block in enumerate(params["blocks"]):
        p = block["attention"]
        y = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        for name in ("k", "v"):                           # stored as (S, B, d_model): time first
            new = np.moveaxis(y @ p["w_" + name] + p["b_" + name], 1, 0)
            cache[name][i] = new if n == 0 else np.vstack([cache[name][i], new])
        q = split_heads(y @ p["w_q"] + p["b_q"], n_heads)
        k, v = (split_heads(np.moveaxis(cache[name][i], 0, 1), n_heads) for name in ("k", "v"))
        x = x + merge_heads(attention(q, k, v, causal_mask(T, n + T))) @ p["w_o"] + p["b_o"]
        cache["n"] += T
        x = x + feed_forward(layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"]), block["feed_forward"])
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T
    return x.reshape(lead + x.shape[1:]), cache

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    lead, T = prompt.shape[:-1], prompt.shape[-1]
    if T + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    text = prompt.reshape(-1, T).astype(np.int64)
    rows = None if u is None else np.asarray(u).reshape(-1, n_new) if n_new else None
    cache, unread = new_decoder_cache(len(params["blocks"])), text
    for i in range(n_new):
        logits, cache = decoder_step(unread, cache, params, n_heads)
        unread = sample_token(logits[:, -1], None if rows is None else rows[:, i], temperature, top_k)[:, None]
        text = np.hstack([text, unread])
    return text.reshape(lead + (T + n_new,))
