from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm

def through(blocks, x, n_heads, mask):
    if len(blocks) == 0:
        return x
    return through(blocks[1:], decoder_block(x, blocks[0], n_heads, mask), n_heads, mask)

def decoder_logits(tokens, params, n_heads, padding=None):
    T = tokens.shape[-1]
    if T > len(params["position"]):
        raise ValueError("tokens")
    mask = causal_mask(T) if padding is None else causal_mask(T) & padding
    x = through(params["blocks"], params["embedding"][tokens] + params["position"][:T], n_heads, mask)
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T
