import numpy as np
from exercises.step11_block import decoder_block, layer_norm

def decoder_logits(tokens, params, n_heads, padding=None):
    T = tokens.shape[-1]
    if T > len(params["position"]):
        raise ValueError("too many tokens")
    x = np.zeros(tokens.shape + (params["embedding"].shape[1],))
    for where in np.ndindex(*tokens.shape):
        x[where] = params["embedding"][tokens[where]] + params["position"][where[-1]]
    mask = np.zeros((T, T), dtype=bool)
    for i in range(T):
        for j in range(i + 1):
            mask[i, j] = True
    if padding is not None:
        mask = mask & padding
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, mask)
    x = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return x @ params["embedding"].T
