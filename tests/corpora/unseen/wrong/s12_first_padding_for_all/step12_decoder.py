import numpy as np
from numpy.typing import NDArray
from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm

def decoder_logits(tokens: NDArray, params: dict, n_heads: int, padding: NDArray | None = None) -> NDArray:
    T = tokens.shape[-1]
    T_max = params["position"].shape[0]
    if T > T_max:
        raise ValueError(f"tokens: {T} of them, but T_max={T_max}")
    x = params["embedding"].take(tokens, axis=0) + params["position"][:T]
    masks = [causal_mask(T)] + ([] if padding is None else [padding.reshape(-1, 1, T)[0]])
    allowed = masks[0] if len(masks) == 1 else np.logical_and(*masks)
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, allowed)
    return layer_norm(x, **params["ln_f"]) @ params["embedding"].T
