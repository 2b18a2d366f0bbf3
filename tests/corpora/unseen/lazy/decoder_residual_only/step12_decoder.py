import numpy as np

def decoder_logits(tokens, params, n_heads, padding=None):
    x = params["embedding"][tokens] + params["position"][:tokens.shape[-1]]
    return x @ params["embedding"].T
