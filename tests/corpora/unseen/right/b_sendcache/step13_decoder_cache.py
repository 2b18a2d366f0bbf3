import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


def _layer():
    x = keys = values = None
    while True:
        x, block, n_heads = yield x
        a = block["attention"]
        h = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        q, k, v = (split_heads(h @ a["w_" + c] + a["b_" + c], n_heads) for c in "qkv")
        keys = k if keys is None else np.concatenate([keys, k], axis=-2)
        values = v if values is None else np.concatenate([values, v], axis=-2)
        mask = causal_mask(q.shape[-2], keys.shape[-2])
        x = x + merge_heads(attention(q, keys, values, mask)) @ a["w_o"] + a["b_o"]
        h = layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"])
        x = x + feed_forward(h, block["feed_forward"])


def new_decoder_cache(n_layers):
    gens = [_layer() for _ in range(n_layers)]
    for g in gens:
        next(g)
    return 0, gens


def decoder_step(tokens_new, cache, params, n_heads):
    start, gens = cache
    stop = start + tokens_new.shape[-1]
    if stop > params["position"].shape[0]:
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][start:stop]
    for g, block in zip(gens, params["blocks"]):
        x = g.send((x, block, n_heads))
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return x @ params["embedding"].T, (stop, gens)


def _stream(prompt, params, n_heads, temperature, top_k, us):
    cache = new_decoder_cache(len(params["blocks"]))
    new = prompt
    for u in us:
        logits, cache = decoder_step(new, cache, params, n_heads)
        ids = sample_token(logits[..., -1, :], u, temperature, top_k)
        new = np.asarray(ids)[..., None]
        yield new


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    us = [None] * n_new if u is None else [u[..., i] for i in range(n_new)]
    return np.concatenate([prompt, *_stream(prompt, params, n_heads, temperature, top_k, us)], axis=-1)
