import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step11_block import feed_forward, layer_norm


def new_decoder_cache(n_layers):
    cache = {}
    cache["len"] = 0
    for layer in range(n_layers):
        cache[layer] = []
    return cache


def decoder_step(tokens_new, cache, params, n_heads):
    old = cache["len"]
    new = tokens_new.shape[-1]
    if old + new > len(params["position"]):
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][old : old + new]
    mask = causal_mask(new, old + new)
    for layer in range(len(params["blocks"])):
        block = params["blocks"][layer]
        p = block["attention"]
        h = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        q = h @ p["w_q"] + p["b_q"]
        k = h @ p["w_k"] + p["b_k"]
        v = h @ p["w_v"] + p["b_v"]
        for t in range(new):
            cache[layer].append((k[..., t, :], v[..., t, :]))
        ks = np.stack([r[0] for r in cache[layer]], axis=-2)
        vs = np.stack([r[1] for r in cache[layer]], axis=-2)
        d = q.shape[-1] // n_heads
        heads = []
        for n in range(n_heads):
            s = slice(n * d, (n + 1) * d)
            heads.append(attention(q[..., s], ks[..., s], vs[..., s], mask))
        x = x + np.concatenate(heads, axis=-1) @ p["w_o"] + p["b_o"]
        x = x + feed_forward(layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"]), block["feed_forward"])
    cache["len"] = old + new
    return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    text = np.zeros(prompt.shape[:-1] + (prompt.shape[-1] + n_new,), dtype=np.int64)
    for t in range(prompt.shape[-1]):
        text[..., t] = prompt[..., t]
    cache = new_decoder_cache(len(params["blocks"]))
    logits = None
    for t in range(text.shape[-1] - 1 if n_new else 0):
        logits, cache = decoder_step(text[..., t : t + 1], cache, params, n_heads)
        if t + 1 >= prompt.shape[-1]:
            ui = None if u is None else u[..., t + 1 - prompt.shape[-1]]
            text[..., t + 1] = sample_token(logits[..., 0, :], ui, temperature, top_k)
    return text
