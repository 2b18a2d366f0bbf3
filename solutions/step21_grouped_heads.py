# %% [markdown]
# # Step 21 — Grouped heads
#
# **Time** 60 minutes. **Difficulty** 3 of 5. **Needs** steps 2 to 5, 9 and 20.
#
# **After this you can**
#
# - let several query heads share one head of keys and values,
# - say what that saves, and in which part of the model,
# - put rotary angles and a bias into attention, each at its place.
#
# *The course:* I attention · II decoder · III training · **IV attention today:** 20
# positions, [21 grouped heads], 22 more masks, 23 streaming, 24 window cache, 25 Llama
#
# ## Before you read on
#
# A model of 32 layers has 32 heads of 128 features in each. It has read a text of 8,192
# tokens that ends with "It takes great", and appends *courage*. Its KV cache holds two
# bytes for each number. How large is the cache of this one text: 32 MiB, 400 MiB, or 4
# GiB? Decide before you go on.

# %% [markdown]
# ## What a cache holds
#
# For each layer and each head it holds a key and a value of every token. In that model
# these are 2 · 32 layers · 32 heads · 128 features · 8,192 tokens · 2 bytes = 4 GiB. All
# of it is read again for every new token. At inference the arithmetic is quick, and the
# processor waits for memory. What could be left out of the cache? Queries are not in it.
# So keep 32 query heads, and make fewer heads of keys and values:
#
#     heads of keys and values    name                      cache of that text
#     32, one for each query      multi-head attention      4 GiB
#     8, one for four queries     grouped-query attention   1 GiB
#     1, for all queries          multi-query attention     128 MiB
#
# With one head for all, quality drops a little and training may become less stable. In a
# model with 64 heads, eight groups came close to the quality of all 64, and were nearly as
# fast as one (Ainslie et al. 2023).
#
# ## Which head reads which keys
#
# Query heads that stand side by side share. Each head of keys and values serves n_repeats =
# n_heads / n_kv_heads query heads. With 4 query heads and 2 heads of keys and values:
#
#     query head              0   1   2   3
#     reads keys of head      0   0   1   1          h // n_repeats
#     and not of              0   1   0   1          h % n_kv_heads
#
# Both lines use every head equally often, and a model trained with the second would be as
# good. But published weights, which you may want to load, were trained with the first.
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | queries | split(x w_q) | (..., n_heads, T, d_head) | `split_heads` |
# | keys, values | split(x w_k), split(x w_v) | (..., n_kv_heads, T, d_head) | `split_heads` |
# | shared heads | h reads h // n_repeats | (..., n_heads, T, d_head) | `np.repeat(..., axis=-3)` |
# | scores | q kᵀ / √d_head + bias | (..., n_heads, T, T) | `attention_scores` |
# | weights | softmax over the allowed keys | (..., n_heads, T, T) | `apply_mask`, `softmax` |
# | result | merge(weights v) w_o | (..., T, d_model) | `merge_heads` |
#
# `d_head` need not be d_model / n_heads any more. It is the number of columns of `w_q`
# divided by `n_heads`, and `w_o` leads back to d_model. There are no biases in the
# projections.
#
# ## Where angles and bias go
#
# Angles turn queries and keys, after the heads were split and before the scores. They
# turn no values. Every head turns alike, so here `angles` is (T, d_head / 2), with neither a
# batch axis nor a head axis. (For packed rows, whose angles differ from row to row, insert
# a head axis as for a mask: `angles[..., None, :, :]`.)
#
# A bias is added to the *scaled* scores, before the mask. A hidden key has weight 0,
# whatever its bias. A mask made of a large negative bias would fail as soon as another
# bias outweighs it.
#
# ## By hand
#
# Two tokens of two features, two query heads, one head of keys and values, and d_head =
# 1. The first query head asks with feature 0, the second with feature 1. Keys are
# feature 0, and values are feature 1. The mask is causal:
#
#     x           q of head 0, 1     k     v      output of head 0, 1
#     [1, 2]      1, 2               1     2      2,      2
#     [3, 1]      3, 1               3     1      1.002,  ?
#
# Row 1 of head 0: scores 3·1 and 3·3, weights 0.002 and 0.998, output 0.002·2 +
# 0.998·1. Find the missing number: same keys, same values, another query. The example
# of `grouped_query_attention` checks it.
#
# **Common traps.** Repeating whole lists of heads (`np.tile`) in place of each head.
# Swapping head and time in a reshape. Dividing by √d_model, or by the root of what
# d_model / n_heads would be. Rotating before the heads are split, when pairs reach
# across heads.
#
# > **In torch** this is `F.scaled_dot_product_attention(q, k, v, attn_mask=mask,
# > enable_gqa=True)`, from 2.5 on. A mask of floats is a bias there, and a mask of booleans
# > is a mask.
#
# **Sources.** Shazeer 2019, sections 2.4 and 3 (one head for all); Ainslie et al. 2023,
# section 2.2 (groups).

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention_output
from exercises.step09_heads import merge_heads, split_heads
from exercises.step20_positions import rotate

# %% [markdown]
# ## Heads that are shared
#
# **Try first:** with two heads that hold 10 and 20, `repeat_heads(..., 2)` should hold
# 10, 10, 20, 20 and not 10, 20, 10, 20.


# %%
def repeat_heads(x, n_repeats):
    """Repeat each head, so that query head h finds its keys or values at place h.

    x (..., n_kv_heads, T, d_head) -> (..., n_kv_heads · n_repeats, T, d_head)

        result[..., h, :, :] = x[..., h // n_repeats, :, :]

    Source: Ainslie et al. 2023, section 2.2.

    >>> x = np.array([[[10.0]], [[20.0]]])
    >>> repeat_heads(x, 2).ravel().tolist()
    [10.0, 10.0, 20.0, 20.0]
    """
    ### BEGIN SOLUTION
    return np.repeat(x, n_repeats, axis=-3)
    ### END SOLUTION


# %% [markdown]
# ## The attention
#
# The steps 2 to 5 do the work: scores, mask, softmax, output. The bias comes between
# the scores and the mask. As in step 9, a mask with batch axes needs a head axis before
# it meets the scores: `np.expand_dims(mask, -3)`.
#
# **Try first:** with `n_kv_heads` equal to `n_heads`, no angles and no bias, you should get
# what `multi_head_attention` gives with biases of 0.


# %%
def grouped_query_attention(x, params, n_heads, n_kv_heads, mask=None, angles=None, bias=None):
    """Compute self-attention whose query heads share heads of keys and values.

    x (..., T, d_model) -> (..., T, d_model)
    params: w_q (d_model, n_heads · d_head), w_k and w_v (d_model, n_kv_heads · d_head),
    w_o (n_heads · d_head, d_model)
    mask: bool, True = may attend, broadcastable to (..., T, T); it holds for every head;
    None allows everything
    angles (T, d_head // 2): turn queries and keys, as `rotate` does
    bias, finite, broadcastable to (..., n_heads, T, T): is added to the scaled scores

    Query head h uses columns h · d_head to (h + 1) · d_head of w_q, and keys and values of head
    h // (n_heads / n_kv_heads). A query that may attend to nothing has an output of 0.

    Source: Ainslie et al. 2023, section 2.2; Su et al. 2021; Press et al. 2022.
    Errors: ValueError if n_heads is not a multiple of n_kv_heads.

    The example from the text above:

    >>> x = np.array([[1.0, 2.0], [3.0, 1.0]])
    >>> params = {
    ...     "w_q": np.eye(2), "w_o": np.eye(2),
    ...     "w_k": np.array([[1.0], [0.0]]), "w_v": np.array([[0.0], [1.0]]),
    ... }
    >>> grouped_query_attention(x, params, 2, 1, mask=np.tri(2, dtype=bool)).round(3).tolist()
    [[2.0, 2.0], [1.002, 1.119]]

    A bias can make a key unattractive, and only the mask can hide it:

    >>> bias = np.array([[0.0, 0.0], [0.0, -6.0]])
    >>> y = grouped_query_attention(x, params, 2, 1, mask=np.tri(2, dtype=bool), bias=bias)
    >>> y.round(3).tolist()
    [[2.0, 2.0], [1.5, 1.982]]
    """
    ### BEGIN SOLUTION
    if n_heads % n_kv_heads:
        raise ValueError(f"n_heads, {n_heads}, is not a multiple of n_kv_heads, {n_kv_heads}")
    q = split_heads(linear(x, params["w_q"]), n_heads)
    k = split_heads(linear(x, params["w_k"]), n_kv_heads)
    v = split_heads(linear(x, params["w_v"]), n_kv_heads)
    if angles is not None:  # values carry contents, and those do not turn
        q, k = rotate(q, angles), rotate(k, angles)
    k, v = (repeat_heads(heads, n_heads // n_kv_heads) for heads in (k, v))

    scores = attention_scores(q, k)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        if np.ndim(mask) > 2:
            mask = np.expand_dims(mask, -3)  # batch axes stay in front of the heads
        scores = apply_mask(scores, mask)  # after the bias: nothing brings a hidden key back
    return linear(merge_heads(attention_output(softmax(scores), v)), params["w_o"])
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: who reads whose keys
#
# Six query heads share two key heads, three in a row each. A cache keeps what the key heads make,
# so it takes a third of the memory.

# %% tags=["active-ipynb"]
# look.shared(repeat_heads)

# %% [markdown]
# ## What you have now, and what comes next
#
# **Read on.** Shazeer 2019, sections 2.4 and 3: 15 minutes. Look for why loading the keys is
# the bottleneck. Ainslie et al. 2023, section 2.2: 5 minutes. Figure 2 shows all three kinds.
#
# **In one sentence:** query heads are cheap and stay; the heads that the cache must hold are
# shared by groups of neighbours.
#
# You have the attention of today's decoders, angles and shared heads included. Step 22 is
# about other masks than the lower triangle.
