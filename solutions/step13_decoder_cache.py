# %% [markdown]
# # Step 13 — The decoder's cache
#
# One cache for every layer, and one count of positions for all of them.

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm


# %%
def new_decoder_cache(n_layers):
    """An empty cache for all layers of a decoder and one batch of texts.

    -> any object that `decoder_step` understands

    Source: Pope et al. 2022.
    """
    ### BEGIN SOLUTION
    return [None] * n_layers  # per layer (keys, values), each (..., n_heads, T, d_head)
    ### END SOLUTION


# %%
def decoder_step(tokens_new, cache, params, n_heads):
    """The logits of the new tokens, with the keys and values of old ones from the cache.

    tokens_new (..., T_new), T_new ≥ 1: the tokens after those already in the cache; params as in
    step 12 -> (logits_new (..., T_new, V), cache)

        logits_new = the last T_new rows of decoder_logits over all tokens so far

    Raises ValueError if that makes more than T_max tokens.

    Source: Pope et al. 2022.
    """
    ### BEGIN SOLUTION
    t_new, t_max = tokens_new.shape[-1], len(params["position"])
    t_old = 0 if not cache or cache[0] is None else cache[0][0].shape[-2]
    if t_old + t_new > t_max:
        raise ValueError(f"{t_old + t_new} tokens are more than T_max, which is {t_max}")
    mask = causal_mask(t_new, t_old + t_new)
    x = params["embedding"][tokens_new] + params["position"][t_old : t_old + t_new]
    new_cache = []
    for block, kept in zip(params["blocks"], cache):
        normed = layer_norm(x, block["ln_1"]["gain"], block["ln_1"]["bias"])
        weights = block["attention"]
        q, k, v = (
            split_heads(linear(normed, weights[f"w_{name}"], weights[f"b_{name}"]), n_heads)
            for name in "qkv"
        )
        if kept is not None:
            k, v = np.concatenate([kept[0], k], axis=-2), np.concatenate([kept[1], v], axis=-2)
        new_cache.append((k, v))
        x = x + linear(merge_heads(attention(q, k, v, mask)), weights["w_o"], weights["b_o"])
        normed = layer_norm(x, block["ln_2"]["gain"], block["ln_2"]["bias"])
        x = x + feed_forward(normed, block["feed_forward"])
    normed = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return linear(normed, params["embedding"].T), new_cache
    ### END SOLUTION


# %%
def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    """The prompt and its continuation by the decoder, one token at a time through the cache.

    prompt (..., T), T ≥ 1; params as in step 12; u (..., n_new) uniform numbers in [0, 1), for
    `sample_token` -> (..., T + n_new)

    Raises ValueError if T + n_new > T_max, or if temperature > 0 and u is None.

    Source: Radford et al. 2019.
    """
    ### BEGIN SOLUTION
    total, t_max = prompt.shape[-1] + n_new, len(params["position"])
    if total > t_max:
        raise ValueError(f"prompt and n_new make {total} tokens, more than T_max, {t_max}")
    if temperature > 0 and u is None:
        raise ValueError("u is needed at a temperature above 0")
    text = np.empty((*prompt.shape[:-1], total), dtype=np.int64)
    text[..., : prompt.shape[-1]] = prompt
    cache, read = new_decoder_cache(len(params["blocks"])), 0
    for i in range(n_new):
        end = prompt.shape[-1] + i
        logits, cache = decoder_step(text[..., read:end], cache, params, n_heads)
        read = end
        draw = None if u is None else u[..., i]
        text[..., end] = sample_token(logits[..., -1, :], draw, temperature, top_k)
    return text
    ### END SOLUTION
