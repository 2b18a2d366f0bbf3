import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm


def decoder_logits(tokens, params, n_heads, padding=None):
    head = params.setdefault("lm_head", params["embedding"].T)
    tokens = np.asarray(tokens)
    t = tokens.shape[-1]
    if t > params["position"].shape[0]:
        raise ValueError("tokens: longer than T_max")
    x = params["embedding"][tokens] + params["position"][:t]
    mask = causal_mask(t)
    if padding is not None:
        mask = mask & padding
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, mask)
    return layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]) @ head
