"""Le décodeur complet."""
import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm


def decoder_logits(tokens, params, n_heads, padding=None):
    """Un passage vers l'avant, façon GPT-2 : le masque à chaque étage."""
    durée = tokens.shape[-1]
    if durée > params["position"].shape[0]:
        raise ValueError("tokens : trop long")
    masque = causal_mask(durée)
    masque = masque if padding is None else masque & padding
    x = params["embedding"][tokens] + params["position"][:durée]
    for étage in params["blocks"]:
        x = decoder_block(x, étage, n_heads, masque)
    fin = params["ln_f"]
    return layer_norm(x, fin["gain"], fin["bias"]) @ params["embedding"].T
