import numpy as np
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, one_head, split_heads
from exercises.step11_block import feed_forward, layer_norm

def new_decoder_cache(n_layers):
    cache = []
    for _ in range(n_layers):
        cache.append({"k": None, "v": None})
    return cache

def decoder_step(tokens_new, cache, params, n_heads):
    old = 0 if cache[0]["k"] is None else cache[0]["k"].shape[-2]
    batch, new = tokens_new.shape[:-1], tokens_new.shape[-1]
    if old + new > len(params["position"]):
        raise ValueError("too many tokens")
    x = params["embedding"][tokens_new] + params["position"][old:old + new]
    allowed = np.zeros((new, old + new), dtype=bool)
    for i in range(new):
        allowed[i, :old + i + 1] = True
    for block, store in zip(params["blocks"], cache):
        y = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        a = block["attention"]
        q = split_heads(y @ a["w_q"] + a["b_q"], n_heads)
        k = split_heads(y @ a["w_k"] + a["b_k"], n_heads)
        v = split_heads(y @ a["w_v"] + a["b_v"], n_heads)
        if store["k"] is not None:
            k = np.concatenate([store["k"], k], axis=-2)
            v = np.concatenate([store["v"], v], axis=-2)
        store["k"], store["v"] = k, v
        z = np.zeros(q.shape)
        for where in np.ndindex(*batch):
            for h in range(n_heads):
                z[where][h] = one_head(q[where][h], k[where][h], v[where][h], allowed)
        x = x + merge_heads(z) @ a["w_o"] + a["b_o"]
        x = x + feed_forward(layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"]), block["feed_forward"])
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return x @ params["embedding"].T, cache

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    T = prompt.shape[-1]
    if T + n_new > len(params["position"]):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    text = np.zeros(prompt.shape[:-1] + (T + n_new,), dtype=np.int64)
    text[..., :T] = prompt
    cache = new_decoder_cache(len(params["blocks"]))
    logits = None
    for t in range(T + n_new - 1):
        if n_new == 0:
            break
        logits, cache = decoder_step(text[..., t:t + 1], cache, params, n_heads)
        if t >= T - 1:
            i = t - (T - 1)
            text[..., t + 1] = sample_token(logits[..., 0, :], None if u is None else u[..., i], temperature, top_k)
    return text
