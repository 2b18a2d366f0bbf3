# %% [markdown]
# # Step 10 — Cross-attention
#
# A translator reads a finished sentence while it writes another. Its queries come from what it writes,
# keys and values from what it reads.

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads


# %%
def shift_right(tokens, start_id):
    """What a decoder reads in teacher forcing: the start token, then all but the last token.

    tokens (..., T) -> (..., T)

    Source: Vaswani et al. 2017, section 3.1; Sutskever et al. 2014.
    """
    ### BEGIN SOLUTION
    start = np.full_like(tokens[..., :1], start_id)
    return np.concatenate([start, tokens[..., :-1]], axis=-1)
    ### END SOLUTION


# %%
def cross_attention(x, memory, params, n_heads, memory_mask=None):
    """Attention of x to another sequence, in every head.

    x (..., T, d_model): asks; memory (..., S, d_model): answers, keys and values are made of it;
    params as in step 9; memory_mask bool, broadcastable to (..., T, S), None allows everything
    -> (..., T, d_model)

    There is no causal mask.

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    ### BEGIN SOLUTION
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k = split_heads(linear(memory, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(memory, params["w_v"], params["b_v"]), n_heads)
    if memory_mask is not None and np.ndim(memory_mask) > 2:
        memory_mask = np.expand_dims(memory_mask, -3)  # batch axes stay in front of the heads
    return linear(merge_heads(attention(q, k, v, memory_mask)), params["w_o"], params["b_o"])
    ### END SOLUTION
