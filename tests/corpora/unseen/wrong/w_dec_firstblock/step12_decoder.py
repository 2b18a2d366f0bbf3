import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm


def decoder_logits(tokens, params, n_heads, padding=None):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens: longer than T_max")
    x = params["embedding"][tokens] + params["position"][:T]
    mask = causal_mask(T)
    if padding is not None:
        mask = mask & padding
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, mask)
        mask = causal_mask(T)
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return x @ params["embedding"].T
