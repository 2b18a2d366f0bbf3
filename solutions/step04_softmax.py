# %% [markdown]
# # Step 4 — Softmax
#
# **Time** 30 minutes. **Difficulty** 2 of 5. **Needs** step 3.
#
# **After this you can**
#
# - turn a row of scores into weights,
# - keep exp from overflowing,
# - say what happens to a query that may attend to nothing.
#
# *The course:* **I attention:** 1 queries, keys and values, 2 scores, 3 mask, [4
# softmax], 5 output, 6 loss, 7 KV cache, 8 generation · II decoder · III training · IV
# attention today
#
# ## Before you read on
#
# *takes* has the masked scores 0, 1, -∞, -∞ for the four words. It is to spend a weight
# of 1 on them. Should *takes* get twice as much as *It*, or how much more? And if all
# four scores were 1,000 larger, what would change? Decide before you go on.

# %% [markdown]
# ## From scores to weights
#
# A query has a score for every key. To mix the values of the keys it needs shares: numbers
# that are not negative and add up to 1. The softmax makes such a distribution out of any
# row of scores:
#
#     softmax(s)_j = exp(s_j) / Σ_m exp(s_m)
#
# The results are the **attention weights**. (They are not to be confused with the learned
# weights w_q, w_k, w_v of step 1.) The exponential makes every number positive, keeps the
# order, and depends on differences: for two keys, w_j / w_m = exp(s_j - s_m). One point
# more in score means e = 2.718 times the weight. Since exp(-∞) = 0, nothing goes to the
# two last words.
#
# **One distribution per query.** In scores (..., T_q, T_k) each row belongs to one query,
# so the sum runs along the last axis, over the keys. The result has the shape of the
# scores:
#
#     scores (..., T_q, T_k)  ->  weights (..., T_q, T_k), each row adds up to 1
#
# The argument `axis` names the axis that adds up to 1. It is -1 by default, and counting
# from the end it means the keys whatever batch axes there are. With the axis of the
# queries the columns would add up to 1: the queries would compete for the keys, and the
# weights of an early query would depend on later ones.

# %% [markdown]
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | maximum of a slice | max_m s_m | the axis with length 1 | `keepdims=True` |
# | exponentials | exp(s_j - max) | that of the scores | `np.exp` |
# | weights | divided by their sum | that of the scores | `keepdims=True` again |
#
# ## By hand
#
# The masked scores of step 3. In row 1 the exponentials are exp(0) = 1, exp(1) = 2.718 and
# exp(-∞) = 0, with the sum 3.718:
#
#     masked = [[1, -∞, -∞],        weights = [[1.000, 0.000, 0.000],
#               [0,  1, -∞],                   [0.269, 0.731, 0.000],
#               [1,  3,  4]]                   [0.035, 0.259,   ?  ]]
#
# The last weight is yours, by exp and to three decimals. The example of `softmax`,
# further down, checks it. The first token attends to itself with all its weight: it has
# no choice. The zeros are exact, and the forbidden scores are in no denominator. So
# nothing about the future is left in these weights.
#
# ## Subtract the row maximum
#
# The formula cannot be computed as it stands. exp overflows above 709 in float64 and above
# 88 in float32; the result is infinity, and infinity divided by infinity is NaN. Your
# function is tried with scores up to a million.
#
# Only differences count, so the same number c may be taken from all scores of a row:
#
#     exp(s_j - c) / Σ_m exp(s_m - c) = exp(s_j) exp(-c) / (Σ_m exp(s_m) exp(-c))
#
# The factor exp(-c) cancels, so on paper nothing changes, and 1,000 more for every score
# of a row changes nothing either. With c = the maximum of the row,
# all exponents are at most 0 and nothing can overflow. The largest term is exp(0) = 1, so
# the sum lies between 1 and the number of keys: it can neither overflow nor vanish. A term
# far below the maximum comes out as 0: its true share is too small for float64.
#
# It must be the maximum of **each row**. With one maximum for the whole array a row that
# lies a thousand below another one would become 0/0. It must also be the maximum **after**
# masking. A huge forbidden score would otherwise push all allowed terms down to 0. Here
# this comes by itself, since softmax gets masked scores.
#
# ## A row with nothing in it
#
# If every key is forbidden, the row is -∞ throughout. This happens: when the first token
# is padding, the causal mask and the padding mask leave nothing for query 0. The maximum
# of the row is then -∞ itself, and -∞ - (-∞) is NaN. One NaN spreads to all that is
# computed from it later, so it must not leave this function. Without a maximum it would
# be 0/0, which is NaN as well.
#
# Our rule: **such a row has the weights 0**, and so the output 0. It is the one exception
# to "each row adds up to 1": a query that may attend to nothing receives nothing.
# (`torch.softmax` gives NaN here. torch's `scaled_dot_product_attention` gives 0 from
# version 2.5 on, and gave NaN before.)
# Adding a small number to the denominator does not help: the NaN of -∞ - (-∞) stands in
# the numerator, and all the other rows come out too small.
#
# **Sources.** Vaswani et al. 2017, section 3.2.1, for the place of the softmax in
# attention. Bridle 1990 for its name. Goodfellow, Bengio and Courville 2016, "Deep
# Learning", section 4.1, for the maximum.

# %%
import numpy as np

# %% [markdown]
# ## Your turn
#
# The function knows nothing of masks or attention: -∞ among the scores is all it sees of
# them. It must work for any number of axes and for any one `axis`. The usual trap is a sum
# or a maximum that has lost its axis: then a row is divided by the sum of another row, or
# by a column. With a square array that runs without an error.
#
# **Try first:** `softmax(np.zeros(4))` should be 0.25 four times.


# %%
def softmax(scores, axis=-1):
    """Compute probabilities along an axis, proportional to exp(scores).

    scores (...), any shape -> the same shape; every slice along axis adds up to 1

        softmax(s)_j = exp(s_j) / Σ_m exp(s_m)

    A score of -∞ gets exactly 0. A slice that is -∞ throughout gives zeros. Scores of any
    size up to 1e6 give finite results.

    Source: Vaswani et al. 2017, section 3.2.1; Goodfellow et al. 2016, section 4.1.

    >>> softmax(np.array([[1.0, 3.0, 4.0], [0.0, 1.0, -np.inf]])).round(3).tolist()
    [[0.035, 0.259, 0.705], [0.269, 0.731, 0.0]]
    >>> softmax(np.array([1e6, 1e6])).tolist()
    [0.5, 0.5]
    >>> softmax(np.array([-np.inf, -np.inf])).tolist()
    [0.0, 0.0]
    >>> softmax(np.array([[0.0, 7.0], [0.0, 7.0]]), axis=0).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    ### BEGIN SOLUTION
    maximum = np.max(scores, axis=axis, keepdims=True)
    # A slice of -inf has the maximum -inf, and -inf - -inf is NaN: subtract 0 there.
    maximum = np.where(maximum == -np.inf, 0.0, maximum)
    exponentials = np.exp(scores - maximum)  # exponents are at most 0: exp cannot overflow
    total = np.sum(exponentials, axis=axis, keepdims=True)
    # The total is at least exp(0) = 1, except in a slice of -inf: 0 there, and 0 / 1 = 0.
    return exponentials / np.where(total == 0, 1.0, total)
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: from scores to shares
#
# The masked scores of step 3, through your softmax. Each row adds up to 1, and what was -∞ is
# exactly 0. "Great" wanted "courage" and has to make do with the words before it.

# %% tags=["active-ipynb"]
# look.weights(softmax)

# %% [markdown] tags=["active-ipynb"]
# ## To look at: how sharp a choice is
#
# One row of scores, without the mask, made smaller and larger. Small scores spread the weight over
# all words, large ones give it all to one: this is the saturation that √d_k keeps away.

# %% tags=["active-ipynb"]
# look.sharpness(softmax)

# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** `F.softmax(scores, dim=-1)` subtracts the maximum as you do. Forgetting
# > `dim` draws a warning, and the wrong `dim` draws none.
#
# `make look STEP=4` draws your weights, and one row of scores that grows sharper as it is
# multiplied. That is what dividing by √d_k prevents (step 2).
#
# **Read on.** Goodfellow et al. 2016, section 4.1: 10 minutes. Look for overflow and
# underflow.
#
# **In one sentence:** the softmax turns each row of scores into weights that add up to 1,
# and gives exactly 0 to what was forbidden.
#
# Every query has its weights: how much of each allowed key's value it will take. In step 5
# the weights meet the values, and the four pieces become one function, masked
# self-attention.
