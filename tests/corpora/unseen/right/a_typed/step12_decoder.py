from __future__ import annotations

from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm
from exercises.types_ import Bools, DecoderParams, Floats, Ints


def embed(tokens: Ints, params: DecoderParams, start: int = 0) -> Floats:
    stop: int = start + tokens.shape[-1]
    if stop > params["position"].shape[0]:
        raise ValueError("tokens: more than T_max")
    return params["embedding"][tokens] + params["position"][start:stop]


def unembed(x: Floats, params: DecoderParams) -> Floats:
    return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ params["embedding"].T


def decoder_logits(tokens: Ints, params: DecoderParams, n_heads: int, padding: Bools | None = None) -> Floats:
    x: Floats = embed(tokens, params)
    mask: Bools = causal_mask(tokens.shape[-1])
    if padding is not None:
        mask = mask & padding
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, mask)
    return unembed(x, params)
