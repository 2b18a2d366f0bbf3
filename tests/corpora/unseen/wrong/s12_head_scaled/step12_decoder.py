import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm

def decoder_logits(tokens, params, n_heads, padding=None):
    t_max = params["position"].shape[0]
    T = tokens.shape[-1]
    if not T <= t_max:
        raise ValueError("tokens")
    mask = causal_mask(t_max)[:T, :T]
    mask = mask if padding is None else np.logical_and(mask, padding)
    x = np.take(params["embedding"], tokens, axis=0) + params["position"][:T]
    for i in range(len(params["blocks"])):
        x = decoder_block(x, params["blocks"][i], n_heads, mask)
    return np.matmul(layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"]), params["embedding"].T) / np.sqrt(params["embedding"].shape[1])
