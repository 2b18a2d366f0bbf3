# %% [markdown]
# # Step 11 — Block
#
# Attention moves information between positions; a feed-forward network works on each position.

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step09_heads import multi_head_attention


# %%
def layer_norm(x, gain, bias, eps=1e-5):
    """Each position's features with mean 0 and variance 1, then scaled and moved.

    x (..., d_model), gain (d_model,), bias (d_model,) -> (..., d_model)

    Over the last axis; the variance divides by d_model, and eps is added to it before the root.

    Source: Ba et al. 2016.
    """
    ### BEGIN SOLUTION
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + eps) * gain + bias
    ### END SOLUTION


# %%
def gelu(x):
    """x times the normal distribution function of x, in the tanh form that GPT-2 uses.

    x (...) -> (...)

        gelu(x) = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))

    Source: Hendrycks and Gimpel 2016.
    """
    ### BEGIN SOLUTION
    # (2/π)**0.5 and not np.sqrt(2/π): that is a np.float64, and would make float64 of float32. And
    # x * x * x, because a power is computed through logarithms, which takes many times as long.
    return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * (x * x * x))))
    ### END SOLUTION


# %%
def feed_forward(x, params):
    """Two linear maps with gelu between them, at every position alike.

    x (..., d_model); params: w_in (d_model, d_ff), b_in (d_ff,), w_out (d_ff, d_model),
    b_out (d_model,) -> (..., d_model)

    Source: Vaswani et al. 2017, section 3.3.
    """
    ### BEGIN SOLUTION
    return linear(gelu(linear(x, params["w_in"], params["b_in"])), params["w_out"], params["b_out"])
    ### END SOLUTION


# %%
def decoder_block(x, params, n_heads, mask):
    """One layer of the decoder, pre-norm: each half is added to what it read.

    x (..., T, d_model); params: ln_1 and ln_2 (each gain, bias), attention (as in step 9) and
    feed_forward; mask as in step 9 -> (..., T, d_model)

        x = x + attention(ln_1(x))
        x = x + feed_forward(ln_2(x))

    Source: Radford et al. 2019, section 2.3; Xiong et al. 2020.
    """
    ### BEGIN SOLUTION
    normed = layer_norm(x, params["ln_1"]["gain"], params["ln_1"]["bias"])
    x = x + multi_head_attention(normed, params["attention"], n_heads, mask)  # not +=: x is theirs
    normed = layer_norm(x, params["ln_2"]["gain"], params["ln_2"]["bias"])
    return x + feed_forward(normed, params["feed_forward"])
    ### END SOLUTION
