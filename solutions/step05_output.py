# %% [markdown]
# # Step 5 — Output
#
# **Time** 45 minutes. **Difficulty** 2 of 5. **Needs** steps 1 to 4.
#
# **After this you can**
#
# - put the four pieces together as masked self-attention,
# - say why one pass is worth a pass on every prefix,
# - explain why every layer needs the mask.
#
# *The course:* **I attention:** 1 queries, keys and values, 2 scores, 3 mask, 4 softmax,
# [5 output], 6 loss, 7 KV cache, 8 generation · II decoder · III training · IV attention
# today
#
# ## Before you read on
#
# Suppose you ran attention on "It takes great courage" and on its first two words.
# Would the output at *takes* be the same, with a mask and without? And which of the four
# outputs would change if *courage* became *luck*?

# %% [markdown]
# ## Mixing the values
#
# Step 4 left a row of weights for every query. The weights say where to look. The
# values say what is found there. The output of query i is a mixture of the values, each
# taken in proportion to its weight:
#
#     out_i = Σ_j w_ij v_j
#
# A row of weights adds up to 1 (unless the query may attend to nothing), so an output
# is an average of values. With this step the formula is complete:
#
#     attention(Q, K, V) = softmax(QKᵀ/√d_k + M) V
#
# **Shapes.** The width of the output is that of the values, whatever d_k is:
#
#     q (..., T_q, d_k)       k (..., T_k, d_k)       v (..., T_k, d_v)
#     scores and weights (..., T_q, T_k)              output (..., T_q, d_v)
#
# **The order** is scores, mask, softmax, output. The mask comes before the softmax,
# because the softmax divides by a sum over keys, and a key that stands in this sum has
# a say. It comes after the scores, because blanking out the vectors would not do: a key
# of zeros still has the score 0, and exp(0) = 1.
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | output | Σ_j w_ij v_j | (..., T_q, d_v) | `@` |
# | attention | softmax(QKᵀ/√d_k + M) V | (..., T_q, d_v) | your steps 2, 3 and 4 |
# | both masks | causal and padding | (..., T, T) | `&` |
#
# ## By hand
#
# The weights of step 4 and the values of step 1:
#
#     weights = [[1.000, 0.000, 0.000],      v = [[10],
#                [0.269, 0.731, 0.000],           [20],
#                [0.035, 0.259, 0.705]]           [30]]
#
#     out_0 = 1.000 · 10                              = 10
#     out_1 = 0.269 · 10 + 0.731 · 20                 = 17.31
#     out_2 = 0.035 · 10 + 0.259 · 20 + 0.705 · 30    = ?
#
# The last one is yours. With these rounded weights it comes out 0.02 too low. The example of
# `masked_self_attention`, further down, checks it.
#
# **Common traps.** Mixing the keys instead of the values. Using the scores where the
# weights belong. Mixing along a column of the weights, which says how much each query
# takes of one key. Dividing by T once more, although the weights already average. All
# four run without an error when the sizes happen to agree.
#
# **Source.** Vaswani et al. 2017, section 3.2.1 for the formula, section 3.2.3 for the
# mask.

# %% [markdown]
# ## One pass is as good as running every prefix alone
#
# Cut the example after the second token and compute again: out_0 and out_1 are still 10
# and 17.31. In row t, the entries after t are -∞. Each of them adds exp(-∞) = 0 to the
# sum in the denominator and 0 · v_j to the mixture in the numerator. What is left is
# exactly the computation on tokens 0..t, as if the text ended there. So the output at
# *takes* is the same whether *great courage* follows or not, and with *luck* in place of
# *courage* only the last output changes. Without the mask all four would change.
#
# So one masked pass over T tokens gives the results of T passes, one on each prefix.
# Step 6 uses this to train on all positions at once, and step 7 to keep old results. It
# is also a test that finds nearly every leak: cut the text, run again, compare the rows
# that remain.
#
# ## Every layer needs the mask
#
# Put two layers on top of each other. Layer 0 turns inputs x into hidden rows h,
# layer 1 turns h into outputs y. Suppose only layer 1 is masked. Output y_0 reads only
# h_0, as it should. But h_0 was made without a mask and has read x_2, so there is a
# path
#
#     x_2 -> h_0 -> y_0
#
# and the future has come back through the layer below. A mask in layer 0 alone fails in
# the same way: x_2 -> h_2 -> y_0. With the mask in every layer each arrow leads from a
# position to the same position or a later one, and so does every chain of arrows. The
# other parts of a decoder (projections, and what step 11 adds) work on each
# position by itself and add no path between positions.
#
# ## Padding
#
# Padding hides keys, never queries. A padded position may not be looked at. It may look,
# and nobody reads its output: the position is hidden as a key in the next layer and skipped
# by the loss.
#
# A query can be left with no key at all: if the text starts with padding, token 0 may look
# only at itself, and it is hidden. Step 4 turns its row of scores into weights of 0, so the
# output is 0: no information, and no NaN that would spread to later layers.

# %%
import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax

# %% [markdown]
# **Try first:** `attention_output(np.eye(3), v)` should give back v, whatever v is.


# %%
def attention_output(weights, v):
    """Mix the values: each output row is a weighted sum of the rows of v.

    weights (..., T_q, T_k), v (..., T_k, d_v) -> (..., T_q, d_v)

        out[..., i, :] = Σ_j weights[..., i, j] · v[..., j, :]

    The weights are used as they are: over the keys they already add up to 1, or to 0 where
    a query may attend to nothing.

    Source: Vaswani et al. 2017, section 3.2.1.

    >>> weights = np.array([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.25, 0.25, 0.5]])
    >>> v = np.array([[4.0, 0.0], [0.0, 4.0], [0.0, 8.0]])
    >>> attention_output(weights, v).tolist()
    [[4.0, 0.0], [1.0, 3.0], [1.0, 5.0]]
    """
    ### BEGIN SOLUTION
    return weights @ v
    ### END SOLUTION


# %% [markdown]
# `attention` knows nothing of time. It obeys the mask that it is given. T_q and T_k may
# differ, as may d_k and d_v.
#
# **Try first:** with equal scores, `attention(np.zeros((1, 2)), np.ones((3, 2)), v)` should
# be the mean of the three rows of v.


# %%
def attention(q, k, v, mask=None):
    """Compute scaled dot-product attention: scores, mask, softmax, output, in that order.

    q (..., T_q, d_k), k (..., T_k, d_k), v (..., T_k, d_v) -> (..., T_q, d_v)
    mask: bool, True = may attend, broadcastable to (..., T_q, T_k); None allows everything

        softmax(QKᵀ/√d_k + M) V,   M = 0 where the mask is True, -∞ where it is False

    A query that may attend to nothing has output 0.

    Source: Vaswani et al. 2017, sections 3.2.1 and 3.2.3.

    With scores that are all equal, an output is the plain average of the values in sight:

    >>> q, k = np.zeros((3, 2)), np.ones((3, 2))
    >>> v = np.array([[1.0], [3.0], [8.0]])
    >>> attention(q, k, v).round(3).tolist()
    [[4.0], [4.0], [4.0]]
    >>> attention(q, k, v, causal_mask(3)).round(3).tolist()
    [[1.0], [2.0], [4.0]]
    """
    ### BEGIN SOLUTION
    scores = attention_scores(q, k)
    if mask is not None:
        scores = apply_mask(scores, mask)  # before the softmax sums over the keys
    weights = softmax(scores)
    return attention_output(weights, v)
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: the weights inside
#
# With the identity for values the outputs are the weights themselves: row i is who token i listens
# to. Compare the two: above the diagonal nothing may be left.

# %% tags=["active-ipynb"]
# look.attention_weights(attention, causal_mask)

# %% [markdown] tags=["active-ipynb"]
# ## To look at: the leaks, before masking and after
#
# One word's key and value are changed at a time. A red cell, or `!`, is an output that
# moved although its word comes first: it has read the future. With the mask there must be
# none.

# %% tags=["active-ipynb"]
# look.leaks(attention, causal_mask)

# %% [markdown]
# ## Masked self-attention
#
# **Masked self-attention** is attention whose queries, keys and values all come from the
# same tokens, and in which every query sees only its own position and earlier ones. The
# two words say two independent things:
#
# - **self** says where keys and values come from: the same tokens as the queries. In
#   step 10 they come from another text, and that is cross-attention.
# - **masked** says that some pairs are forbidden. An encoder, a model that only reads, has
#   self-attention without a causal mask.
#
# Step 0 told **causal attention**, a behaviour, from **masked attention**, a way to build
# it. One does not imply the other. Attention under a padding mask alone is masked and not
# causal. A network that reads one token after the other is causal and has no mask.
#
# In the function below the causal mask is always on. Padding comes on top of it and never
# replaces it: a key is seen only if both masks allow it. By broadcasting, the two become
# one mask for each text of the batch:
#
#     causal (T, T)    padding (..., 1, T)    both (..., T, T)
#
# **Try first:** `masked_self_attention(x[:1], w_q, w_k, w_v)` should be 10, with the x and the
# weights of the example by hand.


# %%
def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    """Compute causal self-attention of one layer: token t attends to tokens 0..t.

    x (..., T, d_model), w_q, w_k (d_model, d_k), w_v (d_model, d_v) -> (..., T, d_v)
    padding: what `padding_mask` returns, bool (..., 1, T), False where a key is padding

        softmax(QKᵀ/√d_k + M) V,   Q = x w_q,  K = x w_k,  V = x w_v,
        M_ij = 0 where j ≤ i and key j is not padding, -∞ elsewhere

    Source: Vaswani et al. 2017, section 3.2.3; the decoder of section 3.1.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> w_q = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    >>> w_k = np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 2.0]])
    >>> w_v = np.array([[10.0], [20.0]])
    >>> y = masked_self_attention(x, w_q, w_k, w_v)
    >>> y.round(3).tolist()
    [[10.0], [17.311], [26.703]]

    The first two rows need only the first two tokens:

    >>> bool(np.allclose(masked_self_attention(x[:2], w_q, w_k, w_v), y[:2]))
    True

    Token 0 is padding: it sees nothing, and nobody sees it.

    >>> padding = np.array([[False, True, True]])
    >>> masked_self_attention(x, w_q, w_k, w_v, padding).round(3).tolist()
    [[0.0], [20.0], [27.311]]
    """
    ### BEGIN SOLUTION
    q, k, v = project_qkv(x, w_q, w_k, w_v)
    mask = causal_mask(q.shape[-2])
    if padding is not None:
        mask = mask & padding  # and, not instead: padding does not switch causality off
    return attention(q, k, v, mask)
    ### END SOLUTION


# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** `F.scaled_dot_product_attention(q, k, v, is_causal=True)` is all of
# > this step after the projections. Its `is_causal` aligns at the upper left, so it is
# > right only where T_q equals T_k.
#
# **Read on.** Vaswani et al. 2017, section 3.2.3: 10 minutes. Compare its three uses of
# attention.
#
# **Bonus.** `make bonus` asks for `previous_token_head`: queries and keys, made by
# hand, with which every word looks at the one before it.
#
# **In one sentence:** masked self-attention lets every token mix the values of itself and
# of earlier tokens, so each output is a summary of its prefix and of nothing else.
#
# You have masked self-attention, complete: projections, scores, mask, softmax, output.
# It cannot look ahead, and one pass serves every prefix. Step 6 puts a language model
# around it and measures how well that model predicts the next token.
