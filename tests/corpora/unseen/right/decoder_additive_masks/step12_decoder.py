import numpy as np
from exercises.step03_mask import additive_mask, causal_mask
from exercises.step09_heads import additive_attention
from exercises.step11_block import feed_forward, layer_norm

def block_with_float_mask(x, b, n_heads, m):
    y = x + additive_attention(layer_norm(x, **b["ln_1"]), layer_norm(x, **b["ln_1"]), b["attention"], n_heads, m)
    return y + feed_forward(layer_norm(y, **b["ln_2"]), b["feed_forward"])

def decoder_logits(tokens, params, n_heads, padding=None):
    T = tokens.shape[-1]
    if T > params["position"].shape[0]:
        raise ValueError("tokens")
    m = additive_mask(causal_mask(T))
    if padding is not None:
        m = m + additive_mask(padding)               # -inf + -inf = -inf: "and" of masks is a sum
    x = params["embedding"][tokens] + params["position"][:T]
    for b in params["blocks"]:
        x = block_with_float_mask(x, b, n_heads, m)
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T
