import numpy as np
from exercises.step07_kv_cache import KVCache
from exercises.step08_generation import check, sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


class DecoderCache:
    def __init__(self, n_layers):
        self.layers = [KVCache() for _ in range(n_layers)]
        self.length = 0

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return self.layers[i]


new_decoder_cache = DecoderCache


def decoder_step(tokens_new, cache, params, n_heads):
    a = len(cache)
    b = a + tokens_new.shape[-1]
    if b > len(params["position"]):
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][a:b]
    for i, p in enumerate(params["blocks"]):
        w = p["attention"]
        h = layer_norm(x, **p["ln_1"])
        y = cache[i].attend(*(split_heads(h @ w["w_" + c] + w["b_" + c], n_heads) for c in "qkv"))
        x = x + merge_heads(y) @ w["w_o"] + w["b_o"]
        x = x + feed_forward(layer_norm(x, **p["ln_2"]), p["feed_forward"])
    cache.length = b
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    total = prompt.shape[-1] + n_new
    if total > len(params["position"]):
        raise ValueError("n_new")
    check(temperature, top_k)
    if temperature > 0 and u is None:
        raise ValueError("u")
    text = np.empty(prompt.shape[:-1] + (total,), np.int64)
    text[..., :prompt.shape[-1]] = prompt
    cache = new_decoder_cache(len(params["blocks"]))
    for i in range(n_new):
        b = prompt.shape[-1] + i
        logits, cache = decoder_step(text[..., len(cache):b], cache, params, n_heads)
        text[..., b] = sample_token(logits[..., -1, :], u if u is None else u[..., i], temperature, top_k)
    return text
