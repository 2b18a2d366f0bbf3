from exercises.model import Model


def decoder_logits(tokens, params, n_heads, padding=None):
    logits, _ = Model.from_params(params, n_heads)(tokens, padding=padding)
    return logits
