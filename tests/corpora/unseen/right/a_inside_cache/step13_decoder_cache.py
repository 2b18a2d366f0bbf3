import numpy as np
from exercises.step07_kv_cache import Cache
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


class DecoderCache(Cache):
    """a cache whose keys are never used, only its counter; it owns those of the layers"""

    def __init__(self, n_layers):
        super().__init__()
        self._layers = [Cache() for _ in range(n_layers)]


def new_decoder_cache(n_layers):
    return DecoderCache(n_layers)


def decoder_step(tokens_new, cache, params, n_heads):
    a, b = cache._count, cache._count + tokens_new.shape[-1]
    if b > params["position"].shape[0]:
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][a:b]
    for p, layer in zip(params["blocks"], cache._layers):
        w = p["attention"]
        h = layer_norm(x, p["ln_1"]["gain"], p["ln_1"]["bias"])
        layer._push(split_heads(h @ w["w_k"] + w["b_k"], n_heads), split_heads(h @ w["w_v"] + w["b_v"], n_heads))
        y = layer._look(split_heads(h @ w["w_q"] + w["b_q"], n_heads))
        x = x + merge_heads(y) @ w["w_o"] + w["b_o"]
        x = x + feed_forward(layer_norm(x, p["ln_2"]["gain"], p["ln_2"]["bias"]), p["feed_forward"])
    cache._count = b
    return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T, cache


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    cache = new_decoder_cache(len(params["blocks"]))
    text = prompt.copy()
    for i in range(n_new):
        logits, cache = decoder_step(text[..., cache._count:], cache, params, n_heads)
        ids = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)
        text = np.concatenate([text, np.asarray(ids)[..., None]], axis=-1)
    return text
