from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm

def decoder_logits(tokens, params, n_heads, padding=None):
	T = tokens.shape[-1]
	if T > params["position"].shape[0]:
		raise ValueError("tokens")
	mask = causal_mask(T)
	if padding is not None:
		mask = mask & padding
	x = params["embedding"][tokens] \
		+ params["position"][:T]
	for block in params["blocks"]:
		x = decoder_block(x, block, n_heads, mask)
	ln = params["ln_f"]
	return layer_norm(x, ln["gain"], ln["bias"]) @ params["embedding"].T
