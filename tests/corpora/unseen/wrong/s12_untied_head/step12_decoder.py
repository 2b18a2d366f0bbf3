import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm

def decoder_logits(tokens, params, n_heads, padding=None):
    T = tokens.shape[-1]
    E, P = params["embedding"], params["position"]
    if T > P.shape[0]:
        raise ValueError("tokens")
    mask = causal_mask(T) if padding is None else causal_mask(T) & padding
    x = E[tokens] + P[:T]
    for b in params["blocks"]:
        x = decoder_block(x, b, n_heads, mask)
    head = np.random.default_rng(0).normal(0, 0.02, E.shape[::-1])        # as in GPT-2's initialisation
    return layer_norm(x, **params["ln_f"]) @ head
