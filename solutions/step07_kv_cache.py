# %% [markdown]
# # Step 7 — KV cache
#
# **Time** 45 minutes. **Difficulty** 3 of 5. **Needs** step 5.
#
# **After this you can**
#
# - append a token without computing the past again,
# - say why the causal mask makes old keys and values valid,
# - place the mask for several new tokens at once.
#
# *The course:* **I attention:** 1 queries, keys and values, 2 scores, 3 mask, 4 softmax,
# 5 output, 6 loss, [7 KV cache], 8 generation · II decoder · III training · IV attention
# today
#
# ## Before you read on
#
# A model has written "It takes great" and now reads its own *courage*. Which of these
# does it have to compute again for *It*: its query, its key, its value, its output?
# Decide before you go on.

# %% [markdown]
# ## What a new token needs
#
# In training the whole text is there from the start. At inference it grows by one token
# at a time: predict, append, predict again. The simple way is to run the model on the
# whole text for every new token. Almost all of that work was done before, with the same
# result.
#
# What does the new token t need? Its own query, and the keys and values of tokens 0..t.
# In a causal model the keys and values of the old tokens have not changed, because the
# past never looks at the future: nothing that was computed at positions 0..t-1 has read
# token t. So when *courage* comes, nothing about *It* has to be computed again. Store the
# keys and values, compute one new row, and append it. The store is the **KV cache**.
# Old queries are not kept. Each was needed only for its own output, and that output is
# already there. For a single new token:
#
#     q_t, k_t, v_t = projections of the new token
#     K = [k_0 .. k_(t-1)  from the cache,  k_t]
#     V = [v_0 .. v_(t-1)  from the cache,  v_t]
#     y_t = softmax(q_t Kᵀ/√d_k) V
#
# No mask M stands in the last line: every key belongs to the token itself or to its past,
# so a single new token may attend to all of them. And training has no use for a cache:
# there one pass computes all rows at once.
#
# ## Why the mask makes it valid
#
# In the first layer the key of a token is made from that token alone. In a higher layer it
# is made from the output of the layer below at the same position. With the causal mask in
# every layer that output is final as soon as it is computed, and so is the key. Without a
# mask, a new token x_3 would change the first layer's output at every old position:
#
#     x_3 -> h_0 -> the key and value of position 0 in the second layer
#
# Above the first layer nothing could be kept: a model without a causal mask computes
# nearly everything again for each token, and has no KV cache.
#
# ## What it saves
#
# The work in one layer for the last of T tokens:
#
#                          run on the whole text     with the cache
#     rows projected       T                         1
#     scores computed      T · T                     T
#     numbers kept         none                      T · (d_k + d_v)
#
# The cost of one token falls from O(T²) to O(T), and that of writing T tokens from
# O(T³) to O(T²). It still grows with T, since the new query meets every key. The price
# is memory. With long texts and large batches, storing and loading the cache becomes
# the limit, not the arithmetic.

# %% [markdown]
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | new rows | projections of x_new | (..., T_new, d_k) | step 1 |
# | all keys | [old, new] | (..., T_k, d_k) | `np.concatenate(..., axis=-2)` |
# | mask | the last T_new of T_k | (T_new, T_k) | step 3 |
# | output | attention over all keys | (..., T_new, d_v) | step 5 |
#
# ## By hand
#
# The example of steps 1 to 5. Two tokens have been read, and their outputs 10 and 17.31
# are known. Now [1, 1], the third, arrives. Only it is projected:
#
#     K in the cache = [[2, 0, 0, 0],     V in the cache = [[10],
#                       [0, 4, 0, 2]]                       [20]]
#     new            q = [1, 1, 1, 1]     k = [2, 4, 0, 2]     v = [30]
#
# The new key goes to the end of K, the new value to the end of V. One row of scores is
# computed, (2, 6, 8) / √4 = (1, 3, 4), and no other. It gives the weights 0.035, 0.259,
# 0.705, and so the output
#
#     y_2 = 0.035 · 10 + 0.259 · 20 + 0.705 · 30 ≈ 26.70
#
# which is the last row of step 5. Now a fourth token, [1, 0], arrives, and its query
# meets four keys. How many numbers are in the cache afterwards, keys and values together?
# The answer is yours. Question 7f checks it: `make quiz STEP=7f`.
#
# ## Several tokens at once
#
# A prompt is known in full, so it goes in as one chunk, or as several. This is called
# **prefill**. Within a chunk the causal rule still holds. The T_new queries are the last of
# the T_k positions, so the mask is a rectangle with its triangle at the bottom right.
# With 2 tokens in the cache and 2 new ones (1 = may attend):
#
#     right: bottom-right      wrong: top-left      wrong: no mask in a chunk
#     1 1 1 0                  1 0 0 0              1 1 1 1
#     1 1 1 1                  1 1 0 0              1 1 1 1
#
# **Common traps.** The top-left triangle hides the past: one new token with ten keys
# would see key 0 only. It does not show while the cache is empty, for then the mask is
# square. Having no mask lets the first token of a chunk read the next ones. It shows
# neither with one token at a time nor in the last row of a chunk, since the last token
# may see everything.
#
# **Sources.** Shazeer 2019, section 2.4 (incremental decoding, and why loading keys and
# values is its bottleneck); Pope et al. 2022 (the cost of the KV cache in large
# models).

# %%
import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention

# %% [markdown]
# A cache is state: it belongs to one text, or one batch of texts that grow together,
# and to one layer. Two caches must not share anything. A list in a default argument or
# a variable of the module would be shared by every text that the program ever reads.
#
# What a cache looks like is up to you. Only `attend_with_cache` opens it. An empty one may be
# `{}`, or `{"k": None, "v": None}`: before the first token nobody knows the batch or d_k. So
# the first call finds no old keys, and keeps its own.


# %%
def new_cache():
    """Return an empty cache for one layer and one batch of texts.

    () -> any object that `attend_with_cache` understands

    Source: Pope et al. 2022 (the KV cache).

    Two caches share nothing. Here the second one does not hear of the 2 in the first:

    >>> one, first, second = np.ones((1, 1)), new_cache(), new_cache()
    >>> y, first = attend_with_cache(np.array([[2.0]]), first, one, one, one)
    >>> y, second = attend_with_cache(np.array([[6.0]]), second, one, one, one)
    >>> y.tolist()
    [[6.0]]
    """
    ### BEGIN SOLUTION
    return {}  # a new dict per call; the first call of attend_with_cache fills "k" and "v"
    ### END SOLUTION


# %% [markdown]
# The new tokens are projected, the old ones are not: not even their embeddings are
# handed over. A new token attends to itself too, so its key must be there before the
# scores are computed. New keys go behind the old ones, in the order of time, because
# the mask counts positions.
#
# The result must be what one pass over the whole text gives for the new rows, however
# the text was cut: 8 tokens as 3 + 3 + 2, as 5 + 1 + 1 + 1, or one by one. Compare
# every row, not only the last.
#
# **Try first:** `attend_with_cache(x[:1], new_cache(), w_q, w_k, w_v)[0]` should be the token's
# own value: alone in an empty cache, it sees itself only.


# %%
def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    """Compute causal self-attention of the new tokens over all tokens so far.

    x_new (..., T_new, d_model), T_new ≥ 1: the tokens after those already in the cache
    w_q, w_k (d_model, d_k), w_v (d_model, d_v)
    -> (y_new (..., T_new, d_v), cache)

        y_new = the last T_new rows of masked_self_attention over all tokens so far

    Only the new tokens are projected; old keys and values come from the cache. Use the
    returned cache for the next call, and the one passed in no more. The batch axes are the
    same in every call.

    Source: Shazeer 2019, section 2.4; Pope et al. 2022.

    With equal scores an output is the average of the tokens so far:

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> w_q, w_k, w_v = np.zeros((2, 2)), np.eye(2), np.eye(2)
    >>> y, cache = attend_with_cache(x[:2], new_cache(), w_q, w_k, w_v)
    >>> y.round(3).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    >>> y, cache = attend_with_cache(x[2:], cache, w_q, w_k, w_v)
    >>> y.round(3).tolist()
    [[0.667, 0.667]]
    """
    ### BEGIN SOLUTION
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    if cache:
        k = np.concatenate([cache["k"], k], axis=-2)
        v = np.concatenate([cache["v"], v], axis=-2)
    # A rectangle when there is a past: T_new queries at the end of all keys.
    mask = causal_mask(q.shape[-2], k.shape[-2])
    # A new dict, not the old one changed: one prefix can then be continued in two ways.
    return attention(q, k, v, mask), {"k": k, "v": v}
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: a text in pieces
#
# The same five words, once as a whole, once in pieces, once word by word, through your
# cache. All three pictures must be the same triangle. A red cell, or `!`, is a word read
# too early; a hole in the triangle is a word that was forgotten.

# %% tags=["active-ipynb"]
# look.pieces(attend_with_cache, new_cache)

# %% [markdown] tags=["active-ipynb"]
# ## To look at: what the cache saves
#
# What one more token takes on this machine, now, with your cache and with your whole pass of step
# 5, after more and more tokens. One curve should stay low; the other should bend upwards.

# %% tags=["active-ipynb"]
# from exercises.step05_output import masked_self_attention
#
# look.times(masked_self_attention, attend_with_cache, new_cache)

# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** there is no KV cache. In the library transformers it is called
# > `past_key_values`, and `cache` in newer versions: a model takes it, and returns it with
# > the new tokens in it.
#
# **Read on.** Pope et al. 2022, section 2: 10 minutes. Look for what the cache costs in
# memory. Shazeer 2019, section 2.4: 5 minutes.
#
# **In one sentence:** because the past never looks at the future, old keys and values
# stay valid, and a new token needs only its own row.
#
# Your attention can read a text in pieces of any size and never computes a key or a
# value twice. Growing the arrays copies them for every token, which is still O(T).
# Others reserve room beforehand, and write each new key into the next free slot. The slots
# that are still empty must then be masked, since a key of zeros would get a weight too.
#
# One layer needs one cache; a decoder of many layers needs one for each. Step 8 uses
# this cache to write text.
