import numpy as np

from exercises.step11_block import decoder_block, layer_norm


def decoder_logits(tokens, params, n_heads, padding=None):
    T = tokens.shape[-1]
    if T > len(params["position"]):
        raise ValueError("tokens too long")
    pairs = {(i, j) for j in range(T) for i in range(j, T)}
    mask = np.array([[(i, j) in pairs for j in range(T)] for i in range(T)], dtype=bool)
    mask = np.broadcast_to(mask, tokens.shape[:-1] + (T, T))
    if padding is not None:
        mask = mask & padding
    x = params["embedding"][tokens] + params["position"][:T]
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, mask)
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T
