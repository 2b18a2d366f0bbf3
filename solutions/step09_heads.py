# %% [markdown]
# # Step 9 — Heads
#
# One attention asks one question of the past. Several heads, each on a slice of the features of its
# own, ask several at once.

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention


# %%
def split_heads(x, n_heads):
    """The features of each head apart.

    x (..., T, d_model) -> (..., n_heads, T, d_head), d_head = d_model / n_heads

    Head h has the features h*d_head:(h+1)*d_head.

    Raises ValueError if n_heads does not divide d_model.

    Source: Vaswani et al. 2017, section 3.2.2.
    """
    ### BEGIN SOLUTION
    *batch, t, d_model = x.shape
    if d_model % n_heads:
        raise ValueError(f"n_heads, {n_heads}, does not divide d_model, {d_model}")
    # Reshaping straight to (..., n_heads, T, d_head) would mix positions and features.
    return np.swapaxes(x.reshape(*batch, t, n_heads, d_model // n_heads), -2, -3)
    ### END SOLUTION


# %%
def merge_heads(x):
    """The heads' features side by side again: the inverse of `split_heads`.

    x (..., n_heads, T, d_head) -> (..., T, n_heads * d_head)

    Source: Vaswani et al. 2017, section 3.2.2.
    """
    ### BEGIN SOLUTION
    *batch, n_heads, t, d_head = x.shape
    return np.swapaxes(x, -2, -3).reshape(*batch, t, n_heads * d_head)
    ### END SOLUTION


# %%
def multi_head_attention(x, params, n_heads, mask=None):
    """Attention of x with itself in every head, the heads' outputs mixed by w_o.

    x (..., T, d_model); params: w_q, w_k, w_v, w_o (d_model, d_model) and
    b_q, b_k, b_v, b_o (d_model,); mask bool, broadcastable to (..., T, T): it has no head axis
    and holds for every head, and None allows everything
    -> (..., T, d_model)

    Source: Vaswani et al. 2017, section 3.2.2.
    """
    ### BEGIN SOLUTION
    q, k, v = (
        split_heads(linear(x, params[f"w_{name}"], params[f"b_{name}"]), n_heads) for name in "qkv"
    )
    if mask is not None and np.ndim(mask) > 2:
        mask = np.expand_dims(mask, -3)  # batch axes stay in front of the heads
    return linear(merge_heads(attention(q, k, v, mask)), params["w_o"], params["b_o"])
    ### END SOLUTION
