import numpy as np
from exercises.step09_heads import project_kv, sum_of_heads
from exercises.step11_block import feed_forward, layer_norm


def run(tokens, params, n_heads, mask, start, layers):
    """layers[i](h, s, x, attention params) -> keys, values"""
    stop = start + tokens.shape[-1]
    if stop > params["position"].shape[0]:
        raise ValueError("tokens: longer than T_max")
    x = params["embedding"][tokens] + params["position"][start:stop]
    for b, layer in zip(params["blocks"], layers):
        n = layer_norm(x, b["ln_1"]["gain"], b["ln_1"]["bias"])
        x = x + sum_of_heads(n, b["attention"], n_heads, lambda h, s: layer(h, s, n, b["attention"]), mask)
        x = x + feed_forward(layer_norm(x, b["ln_2"]["gain"], b["ln_2"]["bias"]), b["feed_forward"])
    return np.einsum("...m,vm->...v", layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]), params["embedding"])


def decoder_logits(tokens, params, n_heads, padding=None):
    t = tokens.shape[-1]
    mask = np.less_equal.outer(np.arange(t), np.arange(t)).T
    if padding is not None:
        mask = np.logical_and(mask, padding)
    fresh = lambda h, s, x, p: project_kv(x, p, s)
    return run(tokens, params, n_heads, mask, 0, [fresh] * len(params["blocks"]))
