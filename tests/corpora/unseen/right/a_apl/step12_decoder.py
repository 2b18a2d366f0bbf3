from functools import reduce
from exercises.step03_mask import causal_mask as C
from exercises.step11_block import decoder_block as D, layer_norm as L


def _no(what):
    raise ValueError(what)


decoder_logits = lambda tokens, params, n_heads, padding=None: _no("tokens") if (t := tokens.shape[-1]) > len(params["position"]) else L(reduce(lambda x, b: D(x, b, n_heads, C(t) if padding is None else C(t) & padding), params["blocks"], params["embedding"][tokens] + params["position"][:t]), **params["ln_f"]) @ params["embedding"].T
