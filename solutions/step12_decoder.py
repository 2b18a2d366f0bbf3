# %% [markdown]
# # Step 12 — Decoder
#
# A stack of blocks under one mask, from tokens to logits.

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm


# %%
def decoder_logits(tokens, params, n_heads, padding=None):
    """A GPT-2 forward pass: the logits of every next token.

    tokens (..., T); params: embedding (V, d_model), position (T_max, d_model), blocks (a list, each
    as in step 11), ln_f (gain, bias); padding is what `padding_mask` returns -> (..., T, V)

    The mask is applied in every block; the output head is embedding.T.

    Raises ValueError if T > T_max.

    Source: Radford et al. 2018, section 3.1; Radford et al. 2019.
    """
    ### BEGIN SOLUTION
    t, t_max = tokens.shape[-1], len(params["position"])
    if t > t_max:
        raise ValueError(f"tokens has {t} positions, more than T_max, which is {t_max}")
    mask = causal_mask(t)
    if padding is not None:
        mask = mask & padding
    x = params["embedding"][tokens] + params["position"][:t]
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, mask)
    normed = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return linear(normed, params["embedding"].T)
    ### END SOLUTION
