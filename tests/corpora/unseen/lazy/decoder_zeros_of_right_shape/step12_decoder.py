import numpy as np

def decoder_logits(tokens, params, n_heads, padding=None):
    return np.zeros(tokens.shape + (params["embedding"].shape[0],))
