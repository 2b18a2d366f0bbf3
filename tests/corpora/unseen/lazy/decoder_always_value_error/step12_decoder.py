
def decoder_logits(tokens, params, n_heads, padding=None):
    raise ValueError("no")
