from typing import NamedTuple
import numpy as np
from exercises.step07_kv_cache import Seen, attend_to
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


class DecoderSeen(NamedTuple):
    layers: tuple
    n: int = 0


def new_decoder_cache(n_layers):
    return DecoderSeen((Seen(),) * n_layers)


def _layer(x, p, seen, n_heads):
    a, h = p["attention"], layer_norm(x, **p["ln_1"])
    q, k, v = (split_heads(h @ a["w_" + c] + a["b_" + c], n_heads) for c in "qkv")
    seen = seen + Seen(k, v)
    x = x + merge_heads(attend_to(q, seen)) @ a["w_o"] + a["b_o"]
    return x + feed_forward(layer_norm(x, **p["ln_2"]), p["feed_forward"]), seen


def decoder_step(tokens_new, cache, params, n_heads):
    n = cache.n + tokens_new.shape[-1]
    if n > params["position"].shape[0]:
        raise ValueError("tokens_new")
    x = params["embedding"][tokens_new] + params["position"][cache.n:n]
    layers = ()
    for p, seen in zip(params["blocks"], cache.layers):
        x, seen = _layer(x, p, seen, n_heads)
        layers += (seen,)
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T, cache._replace(layers=layers, n=n)


def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    seen, out, new = new_decoder_cache(len(params["blocks"])), (prompt,), prompt
    for i in range(n_new):
        logits, seen = decoder_step(new, seen, params, n_heads)
        new = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)[..., np.newaxis]
        out += (new,)
    return np.concatenate(out, axis=-1)
