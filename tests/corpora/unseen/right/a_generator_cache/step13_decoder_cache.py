import numpy as np
from exercises.step07_kv_cache import new_cache as new_attender
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def _layer():
    attend = new_attender()
    y = None
    while True:
        x, block, n_heads = yield y
        a = block["attention"]
        h = layer_norm(x, **block["ln_1"])
        q, k, v = (split_heads(h @ a["w_" + c] + a["b_" + c], n_heads) for c in "qkv")
        x = x + (merge_heads(attend.send((q, k, v))) @ a["w_o"] + a["b_o"])
        y = x + feed_forward(layer_norm(x, **block["ln_2"]), block["feed_forward"])


def _decoder(n_layers):
    layers = [_layer() for _ in range(n_layers)]
    for layer in layers:
        next(layer)
    seen, logits = 0, None
    while True:
        tokens, params, n_heads = yield (logits if logits is not None else seen)
        if tokens is None:          # only a question: how many?
            logits = None
            continue
        x = params["embedding"][tokens] + params["position"][seen:seen + tokens.shape[-1]]
        seen += tokens.shape[-1]
        for layer, block in zip(layers, params["blocks"]):
            x = layer.send((x, block, n_heads))
        logits = layer_norm(x, **params["ln_f"]) @ params["embedding"].T


def new_decoder_cache(n_layers):
    g = _decoder(n_layers)
    next(g)
    return g


def decoder_step(tokens_new, cache, params, n_heads):
    seen = cache.send((None, None, None))
    if seen + tokens_new.shape[-1] > len(params["position"]):
        raise ValueError("tokens_new")
    return cache.send((tokens_new, params, n_heads)), cache


def _stream(prompt, params, n_heads, temperature, top_k, us):
    cache = new_decoder_cache(len(params["blocks"]))
    ids = prompt
    yield ids
    for u in us:
        logits, cache = decoder_step(ids, cache, params, n_heads)
        ids = np.asarray(sample_token(logits[..., -1, :], u, temperature, top_k))[..., None]
        yield ids


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > len(params["position"]):
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    us = [None] * n_new if u is None else [u[..., i] for i in range(n_new)]
    return np.concatenate(list(_stream(prompt, params, n_heads, temperature, top_k, us)), axis=-1)
