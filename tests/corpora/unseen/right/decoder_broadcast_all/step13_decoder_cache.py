import numpy as np
from exercises.step08_generation import sample_token
from exercises.step09_heads import dot_product, merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm

def new_decoder_cache(n_layers):
    return {layer: {} for layer in range(n_layers)}

def _attention(x, p, n_heads, store):
    q, k, v = (split_heads(x @ p["w_" + c] + p["b_" + c], n_heads) for c in "qkv")
    if store:
        k = np.concatenate([store["k"], k], -2)
        v = np.concatenate([store["v"], v], -2)
    store["k"], store["v"] = k, v
    S, T = k.shape[-2], q.shape[-2]
    allowed = np.arange(S) <= np.arange(S - T, S)[:, None]
    return merge_heads(dot_product(q, k, v, allowed)) @ p["w_o"] + p["b_o"]

def decoder_step(tokens_new, cache, params, n_heads):
    E, P = params["embedding"], params["position"]
    past = cache[0]["k"].shape[-2] if cache[0] else 0
    where = past + np.arange(tokens_new.shape[-1])
    if where[-1] >= P.shape[0]:
        raise ValueError("tokens_new")
    x = E[tokens_new] + P[where]
    for layer, block in enumerate(params["blocks"]):
        h = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        x = x + _attention(h, block["attention"], n_heads, cache[layer])
        h = layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"])
        x = x + feed_forward(h, block["feed_forward"])
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return (x[..., None, :] * E).sum(-1), cache

def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if temperature > 0 and u is None:
        raise ValueError("u")
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    text = [prompt.astype(int)]
    cache = new_decoder_cache(len(params["blocks"]))
    for i in range(n_new):
        logits, cache = decoder_step(text[-1], cache, params, n_heads)
        ids = sample_token(logits[..., -1, :], u if u is None else u[..., i], temperature, top_k)
        text.append(np.asarray(ids)[..., None])
    return np.concatenate(text, axis=-1)
