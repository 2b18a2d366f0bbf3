import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm


def decoder_logits(tokens, params, n_heads, padding=None):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens: longer than T_max")
    x = params["embedding"].take(tokens, axis=0)
    x += params["position"][:T]
    mask = causal_mask(T)
    if padding is not None:
        mask = np.logical_and(mask, padding)
    for p in params["blocks"]:
        x = decoder_block(x, p, n_heads, mask)
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return np.dot(x, params["embedding"].transpose())
