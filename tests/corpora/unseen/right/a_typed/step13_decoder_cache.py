from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import with_heads
from exercises.step11_block import feed_forward, layer_norm
from exercises.step12_decoder import embed, unembed
from exercises.types_ import DecoderParams, Floats, Ints


@dataclass
class LayerCache:
    k: Floats | None = None
    v: Floats | None = None

    def __call__(self, q: Floats, k: Floats, v: Floats) -> Floats:
        """an ``Attend`` that remembers"""
        self.k = k if self.k is None else np.concatenate((self.k, k), axis=-2)
        self.v = v if self.v is None else np.concatenate((self.v, v), axis=-2)
        return attention(q, self.k, self.v, causal_mask(q.shape[-2], self.k.shape[-2]))


@dataclass
class DecoderCache:
    layers: list[LayerCache] = field(default_factory=list)
    length: int = 0


def new_decoder_cache(n_layers: int) -> DecoderCache:
    return DecoderCache([LayerCache() for _ in range(n_layers)])


def decoder_step(tokens_new: Ints, cache: DecoderCache, params: DecoderParams, n_heads: int) -> tuple[Floats, DecoderCache]:
    x: Floats = embed(tokens_new, params, cache.length)
    cache.length += tokens_new.shape[-1]
    for layer, block in zip(cache.layers, params["blocks"], strict=True):
        x = x + with_heads(layer_norm(x, **block["ln_1"]), block["attention"], n_heads, layer)
        x = x + feed_forward(layer_norm(x, **block["ln_2"]), block["feed_forward"])
    return unembed(x, params), cache


def decoder_generate(prompt: Ints, n_new: int, params: DecoderParams, n_heads: int, temperature: float = 0.0,
                     top_k: int | None = None, u: Floats | None = None) -> Ints:
    if prompt.shape[-1] + n_new > params["position"].shape[0]:
        raise ValueError("n_new")
    if temperature > 0 and u is None:
        raise ValueError("u")
    cache: DecoderCache = new_decoder_cache(len(params["blocks"]))
    text: list[Ints] = [prompt]
    for i in range(n_new):
        logits, cache = decoder_step(text[-1], cache, params, n_heads)
        ids: Ints = sample_token(logits[..., -1, :], None if u is None else u[..., i], temperature, top_k)
        text.append(np.asarray(ids)[..., None])
    return np.concatenate(text, axis=-1)
