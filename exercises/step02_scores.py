# %% [markdown]
# # Step 2 — Scaled scores
#
# **Time** 30 minutes. **Difficulty** 1 of 5. **Needs** step 1.
#
# **After this you can**
#
# - compute how well every query fits every key, in one matrix product,
# - say why the scores are divided by √d_k,
# - read a score matrix: who asks, and who is asked.
#
# *The course:* **I attention:** 1 queries, keys and values, [2 scores], 3 mask, 4
# softmax, 5 output, 6 loss, 7 KV cache, 8 generation · II decoder · III training · IV
# attention today
#
# ## Before you read on
#
# Take the query of *great* and the keys of *It*, *takes*, *great* and *courage*. Each
# comparison gives one number. How many numbers does a sentence of four words give? And if
# every vector had four times as many entries of the same size, would the numbers stay as
# they are?

# %% [markdown]
# ## Every query meets every key
#
# Every query is now compared with every key. The comparison is a dot product: multiply the
# two vectors entry by entry and add up. It is large and positive when the vectors point
# the same way, zero when they are at right angles, and negative when they point opposite
# ways. So it measures how well what one token offers fits what another one asks for. The
# lengths of the vectors count too, not only their directions: a model may learn a long
# key for a token that matters to many. Four words make 4 · 4 = 16 scores, one for every
# pair.
#
# The dot product, divided by √d_k, is the **score**. All of them at once are one matrix
# product:
#
#     scores = QKᵀ / √d_k        scores[i, j] = q[i]·k[j] / √d_k
#
# **Shapes.**
#
#     q (..., T_q, d_k)     k (..., T_k, d_k)     scores (..., T_q, T_k)
#
# - **A row is who asks, a column is who is asked.** Row i holds the scores of query i for
#   all keys. Every later step counts on this.
# - **T_q may differ from T_k.** In step 7 one new token asks all tokens so far, and in
#   step 10 the tokens of one text ask those of another.
# - The transpose concerns the last two axes of k. Batch axes stay where they are: text b
#   asks text b only.

# %% [markdown]
# ## Why divide by √d_k?
#
# Suppose the entries of q and k are independent, with mean 0 and variance 1. Each product
# of two entries then has mean 0 and variance 1 as well. A dot product adds up d_k of them,
# and variances of independent terms add up too:
#
#     mean of q·k = 0        variance of q·k = d_k        typical size of q·k = √d_k
#
# So vectors with many entries give large scores for that reason alone: with four times
# as many entries, a typical dot product is twice as large. Divided by √d_k the scores
# have variance 1 again, whatever d_k is. (This holds for independent entries. What
# training makes of q and k need not be independent, but it starts out like this.)
#
# Large scores do harm in the **softmax** of step 4. It turns the scores of a query into
# weights, and a key whose score is larger by s gets e^s times the weight (step 4 shows
# why). At d_k = 64 a dot product has the standard deviation 8, so the scores of two keys
# typically differ by 8·√2 = 11.3. Since e^11.3 is about 80,000, one key gets nearly
# everything: the weights are 0.99999 and 0.00001. Divided by √64 = 8, the scores differ
# by 1.41, and the weights are 0.804 and 0.196. In the first case the softmax is
# saturated: the choice is all but made, and a small change of the scores changes nothing.
# Training works by small changes (step 15), so such a model hardly learns.
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | score of i for j | q_i · k_j / √d_k | (..., T_q, T_k) | `q @ ...` |
# | transpose | swaps the last two axes | (..., d_k, T_k) | `np.swapaxes` |
# | scale | √d_k | a number | `q.shape[-1] ** 0.5` |
#
# ## By hand
#
# The queries and keys of step 1, with d_k = 4:
#
#     q = [[1, 1, 0, 0],      k = [[2, 0, 0, 0],
#          [0, 0, 1, 1],           [0, 4, 0, 2],
#          [1, 1, 1, 1]]           [2, 4, 0, 2]]
#
# Query 0 with key 1: 1·0 + 1·4 + 0·0 + 0·2 = 4, divided by √4 = 2, gives 2. All nine:
#
#                         key 0  key 1  key 2
#     QKᵀ / 2 = [query 0    1      2      3
#                query 1    0      1      1
#                query 2    1      3      ? ]
#
# The last one is yours. The example of `attention_scores`, further down, checks it.
#
# The matrix is not symmetric: query 0 gives key 1 a score of 2, while query 1 gives key 0
# a score of 0. And look at row 0: the first token wants the last one most. In a model that
# writes text from left to right the last token does not exist yet when the first one asks.
# Step 3 takes care of that.
#
# **Common traps.**
#
# - d_k is the length of the vectors that are multiplied. It is neither d_model nor T nor
#   the number of heads. In the example T = 3 and d_k = 4, so these cannot be mixed up.
# - The scale is a square root, it makes the scores smaller, and it is applied exactly
#   once.
# - On an array with batch axes `.T` reverses all the axes, not the last two.
#
# **Source.** Vaswani et al. 2017, section 3.2.1, equation 1. The argument about the
# variance is in a footnote there.

# %%
import numpy as np

# %% [markdown]
# **Try first:** `attention_scores(np.ones((2, 9)), np.ones((7, 9)))` should be 3
# everywhere, with the shape (2, 7).


# %%
def attention_scores(q, k):
    """Compute the similarity of every query with every key, divided by √d_k.

    q (..., T_q, d_k), k (..., T_k, d_k) -> (..., T_q, T_k)

        scores[..., i, j] = q[..., i, :] · k[..., j, :] / √d_k

    Row i belongs to query i, column j to key j. T_q and T_k may differ.

    Source: Vaswani et al. 2017, section 3.2.1.

    >>> q = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    >>> k = np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 2.0], [2.0, 4.0, 0.0, 2.0]])
    >>> attention_scores(q, k).tolist()
    [[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [1.0, 3.0, 4.0]]
    >>> attention_scores(np.ones((5, 2, 4)), np.ones((5, 7, 4))).shape
    (5, 2, 7)
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** this is `q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5`.
# > `F.scaled_dot_product_attention` does it inside; its argument `scale` replaces
# > 1/√d_k. Some later models normalise queries and keys first, which is called QK-norm
# > (Henry et al. 2020).
#
# **Read on.** Vaswani et al. 2017, section 3.2.1 and its footnote 4: 10 minutes. Look for
# the variance of a dot product.
#
# **In one sentence:** a score is the dot product of a query and a key, divided by √d_k so
# that its size does not depend on the length of the vectors.
#
# You have a table of scores: row by row, how much each token wants each other token. It
# still covers all pairs, those that look into the future too. In step 3 a mask strikes out
# the pairs that are not allowed. Step 4 turns what is left of each row into weights.
