# %% [markdown]
# # Step 1 — Queries, keys and values
#
# **Time** 30 minutes. **Difficulty** 1 of 5. **Needs** step 0.
#
# **After this you can**
#
# - make a query, a key and a value from each token's vector,
# - say which axes a projection mixes and which it does not,
# - tell by the shape which weight goes where.
#
# *The course:* **I attention:** [1 queries, keys and values], 2 scores, 3 mask, 4
# softmax, 5 output, 6 loss, 7 KV cache, 8 generation · II decoder · III training · IV
# attention today
#
# ## Before you read on
#
# You have read "It takes great courage" to its end. The word *courage* is looking for
# something: an adjective that describes it. *It* has been read too, and does not help. How
# could a program with nothing but vectors express "this is what I look for" and "this is
# what I am"? Would one vector for each word do for both? Decide before you go on.

# %% [markdown]
# ## Three parts of every token
#
# Attention lets every token of a text collect information from other tokens. For that,
# each token plays three parts:
#
# - its **query** says what it is looking for: this is how a token asks;
# - its **key** says what it can be found by: this is what a token offers to those who ask;
# - its **value** is what it hands over when it has been found: this is what it carries.
#
# A query meets a key in step 2, and the values are mixed in step 5. This step only makes
# the three vectors. All three come from the same token vector, through three different
# linear maps, whose weights are learned:
#
#     Q = xW_q        K = xW_k        V = xW_v
#
# **Shapes.** These letters keep their meaning in every step:
#
#     T        number of tokens (positions in time)
#     d_model  length of a token vector
#     d_k      length of a query and of a key
#     d_v      length of a value
#
#     x (..., T, d_model)     w_q, w_k (d_model, d_k)     w_v (d_model, d_v)
#     q (..., T, d_k)         k (..., T, d_k)             v (..., T, d_v)
#
# Three dots stand for any number of leading batch axes, none included. `x` may be one text
# `(T, d_model)`, or a batch of texts `(B, T, d_model)`, or have more axes still. The last
# two axes are always (time, feature).
#
# **Why three maps and not one?** How well a query fits a key is a dot product (step 2),
# and a·b = b·a. If queries and keys came from the same map, token i would want token j
# exactly as much as token j wants token i. But asking is not mutual. In "the dog ate
# because it was hungry" the word "it" needs to find "dog", while "dog" has no need of
# "it". So *courage* has one vector for what it looks for and another for what it is. And
# what makes a token easy to find is not what it should pass on, so the value has a map of
# its own as well.

# %% [markdown]
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | linear map | y = xW + b | (..., d_out) | `@` |
# | query | Q = xW_q | (..., T, d_k) | the same `x` each time |
# | key | K = xW_k | (..., T, d_k) | its own matrix |
# | value | V = xW_v | (..., T, d_v) | d_v may differ from d_k |
#
# ## By hand
#
# Three tokens with d_model = 2, d_k = 4 and d_v = 1. We keep this example until step 4.
#
#     x = [[1, 0],      w_q = [[1, 1, 0, 0],      w_k = [[2, 0, 0, 0],      w_v = [[10],
#          [0, 1],             [0, 0, 1, 1]]             [0, 4, 0, 2]]             [20]]
#          [1, 1]]
#
# The first token vector is [1, 0], so it picks the first row of each matrix. The second
# picks the second row. The third is [1, 1], so it gets the sum of both rows:
#
#     q = [[1, 1, 0, 0],      k = [[2, 0, 0, 0],      v = [[10],
#          [0, 0, 1, 1],           [0, 4, 0, 2],           [20],
#          [1, 1, 1, 1]]           [2, 4, 0, 2]]           [ ?]]
#
# The last number is yours. The example of `project_qkv`, further down, checks it.
#
# ## Can anything leak here?
#
# The kit is about not looking at the future, so ask this at every step. Here the answer is
# no. Each position is projected alone: row t of q, k and v depends on row t of x and on
# nothing else. Tokens meet for the first time in step 2.
#
# It follows that the sum in a projection runs over features, never over time. If you
# change one token of x and two rows of q move, the wrong axis is being summed.
#
# **Source.** Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2: queries,
# keys and values are obtained by different learned linear projections to d_k, d_k and d_v
# dimensions.

# %%
import numpy as np

# %% [markdown]
# ## One linear map
#
# The entries of a token vector are its **features**. A linear layer maps a vector with
# d_in features to one with d_out features. It may add a **bias**, one learned number
# for each feature of the result. In this kit a weight is stored as `(d_in, d_out)`, as
# in the paper: its rows line up with the features of x, its columns with the features
# of the result.
#
# **The common trap.** In torch, a widely used library for such models, `nn.Linear`
# stores the opposite, `(d_out, d_in)`, and transposes it when it is applied. Code
# copied from there fails if d_in and d_out differ. If they are equal it runs, and gives
# wrong numbers without a word.
#
# A second trap holds for the whole kit: a function must leave its arguments as they were.
# An operator such as `+=` on an argument changes the caller's array, or fails where that
# array is read-only.
#
# **Try first:** `linear(np.ones((3, 2)), np.ones((2, 4)))` should be 2 everywhere, with
# the shape (3, 4).
#
# `make try STEP=1` runs such lines on your saved functions, and leaves you at a prompt,
# `>>>`, with these functions and `np`. (Without make it is `nopeek try 1`. In a notebook,
# run the function's cell and try the line in a cell of its own.)


# %%
def linear(x, weight, bias=None):
    """Map the last axis of x from d_in to d_out features, each position alone.

    x (..., d_in), weight (d_in, d_out), bias (d_out,) or None -> (..., d_out)

        y = xW + b        y[..., o] = Σ_i x[..., i] · W[i, o] + b[o]

    Without a bias, b is left out.

    Source: Vaswani et al. 2017, section 3.2.2 (without a bias there).

    >>> weight = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 3.0]])
    >>> linear(np.array([1.0, 2.0]), weight).tolist()
    [1.0, 2.0, 8.0]
    >>> linear(np.array([1.0, 2.0]), weight, np.array([10.0, 20.0, 30.0])).tolist()
    [11.0, 22.0, 38.0]
    """
    ### BEGIN SOLUTION
    y = x @ weight
    if bias is None:
        return y
    # bias (d_out,) broadcasts over every axis but the last: all positions get the same one.
    return y + bias
    ### END SOLUTION


# %% [markdown]
# ## The three projections
#
# Now make all three from one x, without a bias. Take care that each result uses its own
# matrix: when d_k = d_v, two matrices can change places and every shape still fits. The
# results come in the order query, key, value.
#
# **Try first:** `project_qkv(np.eye(2), np.eye(2), 2 * np.eye(2), 3 * np.eye(2))` should give
# the three matrices back, in the order of the arguments.


# %%
def project_qkv(x, w_q, w_k, w_v):
    """Make the query, the key and the value of every token.

    x (..., T, d_model), w_q and w_k (d_model, d_k), w_v (d_model, d_v)
        -> q (..., T, d_k), k (..., T, d_k), v (..., T, d_v)

        Q = xW_q        K = xW_k        V = xW_v

    Source: Vaswani et al. 2017, section 3.2.2, for a single head.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> w_q = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    >>> w_k = np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 2.0]])
    >>> w_v = np.array([[10.0], [20.0]])
    >>> q, k, v = project_qkv(x, w_q, w_k, w_v)
    >>> q[2].tolist(), k[2].tolist(), v[2].tolist()
    ([1.0, 1.0, 1.0, 1.0], [2.0, 4.0, 0.0, 2.0], [30.0])
    """
    ### BEGIN SOLUTION
    return linear(x, w_q), linear(x, w_k), linear(x, w_v)
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: does any token hear of another?
#
# Take a text of seven words, change one word's vector, and see which queries, keys and values
# move. Each picture should be a diagonal: a word's own and nobody else's.

# %% tags=["active-ipynb"]
# look.projections(project_qkv)

# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** `F.linear(x, w.T, b)` is `linear(x, w, b)`. An `nn.Linear(d_in, d_out)`
# > holds its weight the other way round, as (d_out, d_in). Many models make queries,
# > keys and values with one wide `nn.Linear` and cut its result in three.
#
# **Read on.** Vaswani et al. 2017, section 3.2.2, first paragraph: 5 minutes. Look for
# "different, learned linear projections".
#
# **In one sentence:** each token's vector becomes a query, a key and a value, through
# three learned matrices and without a look at any other token.
#
# `make look STEP=1` draws what your functions do, and `make quiz STEP=1` asks about the
# lesson. Every step has both.
#
# Every token has a query, a key and a value, and no token knows of any other yet. In step
# 2 every query meets every key, and each meeting gives a number: the score.
