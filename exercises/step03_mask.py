# %% [markdown]
# # Step 3 — The mask
#
# **Time** 45 minutes. **Difficulty** 2 of 5. **Needs** step 2.
#
# **After this you can**
#
# - say why a model that sees its answer learns nothing,
# - build the causal mask for any rectangle of queries and keys,
# - combine it with a padding mask and apply both to the scores.
#
# *The course:* **I attention:** 1 queries, keys and values, 2 scores, [3 mask], 4
# softmax, 5 output, 6 loss, 7 KV cache, 8 generation · II decoder · III training · IV
# attention today
#
# ## Before you read on
#
# In step 0 the arrows from the future were removed by hand. Write down a matrix that says
# so for "It takes great courage": 1 for an arrow that stays, 0 for one that goes. Then do
# it again for *great* and *courage* as the only queries.
# In which corner of the rows do the zeros sit?

# %% [markdown]
# ## What cheating means
#
# A decoder is trained to give the true text a high probability:
#
#     log p(text) = Σ_t log p(token_t | token_0 .. token_(t-1))
#
# Every term asks for one token given those before it. (The first has none before it;
# step 6 leaves it out.) In training the model is given the true earlier
# tokens, never its own guesses. This is called **teacher forcing**. No input has to be
# waited for, so all guesses can be made in one parallel pass. But in this pass every
# answer stands in the same input, one place to the right.
#
# A query attends to a token if the token's value gets a share in its output. Without a
# mask, each position may attend to its own answer, and training finds out that copying is
# enough. The loss, the number that training makes small, looks excellent and means
# nothing: when the model is used, there is no next token to copy.
#
# So the rule is: **a query may attend to its own position and to earlier ones.** A table
# that says so is called a **causal mask**. A query's own position is allowed, because the
# token there is given, not asked for. Here are the arrows that step 0 left, and beside
# them the same as a matrix, with the upper right struck out:
#
#     who looks      at whom                              key  It  takes  great  courage
#     It          <- It                          query It       1    ×      ×       ×
#     takes       <- It takes                        takes      1    1      ×       ×
#     great       <- It takes great                  great      1    1      1       ×
#     courage     <- It takes great courage        courage      1    1      1       1
#
# **Sources.** Vaswani et al. 2017, section 3.1 (the decoder stack) and section 3.2.3 (the
# mask inside the attention, by setting to -∞). Teacher forcing: Williams and Zipser 1989.

# %% [markdown]
# ## Two ways to write a mask
#
# - A **boolean mask**: True = may attend, False = may not.
# - An **additive mask** M: 0 = may attend, -∞ = may not. The formula for attention has it
#   inside the softmax: softmax(QKᵀ/√d_k + M)V.
#
# They say the same thing: adding 0 leaves a score alone, and adding -∞ to a finite score
# gives -∞. Beware: 0 is "yes" in M, while False, which NumPy counts as 0, is "no".
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | causal mask | position of key ≤ position of query | (t_q, t_k) | `np.arange(...)[:, None]` |
# | padding mask | token ≠ pad_id | (..., 1, T) | `[..., None, :]` |
# | additive mask | 0 or -∞ | that of the mask | `np.where` |
# | both masks | and | (..., T, T) | `&`, broadcasting |
#
# ## By hand
#
# The scores of step 2, the boolean mask (1 for True), and the result:
#
#     scores = [[1, 2, 3],     mask = [[1, 0, 0],     masked = [[1, -∞, -∞],
#               [0, 1, 1],             [1, 1, 0],               [0,  1, -∞],
#               [1, 3, 4]]             [1, 1, 1]]               [1,  3,  4]]
#
# The softmax of step 4 makes weights of a row: it takes exp of every score and divides by
# the sum of these. Look at row 0, where only key 0 is allowed, with exp(1) = 2.718:
#
#     what is done                  weights of row 0       what is wrong
#     -∞ before the softmax         1.000  0.000  0.000    nothing
#     0 instead of -∞                 ?    0.212  0.212    exp(0) is 1: the future counts
#     weights set to 0 afterwards   0.090  0.000  0.000    the sum is not 1
#
# The missing weight is yours. Question 3f checks it: `make quiz STEP=3f`.
#
# ## Why -∞, and why before the softmax?
#
# exp(-∞) is exactly 0. So a forbidden key gets no weight, and it is not in the
# denominator either. The last line of the table fails on that point: the future was in
# the denominator when key 0 got its 0.090, so a change of token 2 still changes output 0.
# That is a **leak**, even though every forbidden weight is 0. (Dividing by the new sum
# would repair it, but only on paper: beside a huge forbidden score the allowed weights
# come out as 0, and then it is 0/0.)
#
# **Why not a very negative number, such as -1e9?** If every key of a row is forbidden,
# the row holds about -1e9 everywhere. The softmax only compares the scores of a row with
# each other, so it hands out full weights, to forbidden keys.

# %%
import numpy as np

# %% [markdown]
# ## The causal mask
#
# Usually there are as many queries as keys, and the ones fill the lower triangle and the
# diagonal. In step 7 the old keys are kept, and only the new tokens ask. The queries are
# then the **last** t_q of t_k positions. With 2 queries and 5 keys, at positions 0 to 4,
# the queries are at positions 3 and 4, and a single zero is left at the upper right:
#
#                  key  0  1  2  3  4
#     row 0, position 3  1  1  1  1  0
#     row 1, position 4  1  1  1  1  1
#
# **The common trap** is to compare the row number with the column number. Row 0 is
# position 3 here.
#
# **Try first:** `causal_mask(1, 4)` should be one row of four True.


# %%
def causal_mask(t_q, t_k=None):
    """Return which keys each query may attend to: its own position and those before it.

    t_q, t_k: numbers of queries and keys; t_k defaults to t_q -> bool (t_q, t_k)

        mask[i, j] = True  where  position of key j ≤ position of query i

    The keys stand at positions 0 to t_k - 1. The queries are the last t_q of these.

    Source: Vaswani et al. 2017, section 3.2.3.
    Errors: ValueError if t_k < t_q, because some queries would have no position.

    >>> causal_mask(3).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> causal_mask(2, 5).astype(int).tolist()
    [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## The padding mask
#
# Texts in a batch differ in length, but an array is rectangular. Short texts are filled
# up with a padding token, which must not be attended to. A **padding mask** sees to that.
# It is a second mask, for a different reason:
#
#                causal mask                  padding mask
#     is about   time: what comes later       content: what is not part of the text
#     made from  positions only               the tokens
#     holds for  every text                   one text of the batch each
#     differs    from query to query          not between queries
#     shape      (T_q, T_k)                   (..., 1, T)
#
# The axis of size 1 stands where the queries are. It says: the same keys are hidden from
# every query. Padding hides **keys**, never **queries**: a padded position still asks.
#
# Masks combine with `&`: a key is seen only if every mask allows it. If the first token
# is padding, query 0 may attend to nothing. Step 4 must be able to cope with that.
#
# **Common traps.** The padding id is given: it need not be 0, and 0 may be a real word.
# Padding may stand anywhere. At the end it hides your mistakes, because the causal mask
# alone keeps it from every real query. So try your code with padding at the start.
#
# **Try first:** `padding_mask(np.array([7, 5, 7]), pad_id=7)` should be False, True,
# False, with the shape (1, 3).


# %%
def padding_mask(tokens, pad_id):
    """Return which keys are real tokens; the same for every query of a text.

    tokens (..., T), integers (int64 or int32); pad_id, the id of the padding token
    -> bool (..., 1, T)

        mask[..., 0, j] = True  where  token j is not padding

    Padding may stand at any position. Nothing but pad_id tells what padding is.

    Source: common practice with batches; it is not described in Vaswani et al. 2017.

    >>> padding_mask(np.array([[5, 0, 9], [9, 7, 9]]), pad_id=9).astype(int).tolist()
    [[[1, 1, 0]], [[0, 1, 0]]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## From boolean to additive
#
# **The common trap** is to multiply by infinity: 0 · ∞ is not 0 in floating point, it is
# NaN, and it would stand at every allowed place.
#
# **Try first:** `additive_mask(np.array([True, False]))` should be 0 and -∞.


# %%
def additive_mask(mask):
    """Turn a mask into M, which is added to the scores.

    mask bool, any shape -> float, the same shape

        M = 0 where the mask is True, -∞ where it is False

    Source: the M of softmax(QKᵀ/√d_k + M)V; Vaswani et al. 2017, section 3.2.3, says it in
    words.

    >>> additive_mask(np.array([[True, False], [True, True]])).tolist()
    [[0.0, -inf], [0.0, 0.0]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## Applying the mask
#
# For finite scores the result equals scores + M. The scores that come in must be unchanged
# afterwards, and the result must come out: a masked copy that is not returned masks nothing.
#
# **Try first:** `apply_mask(np.ones((2, 2)), causal_mask(2))` should have one -∞, at the
# upper right.


# %%
def apply_mask(scores, mask):
    """Return the scores, with -∞ wherever attending is forbidden.

    scores (..., T_q, T_k), mask bool, broadcastable to it -> (..., T_q, T_k)

        masked[..., i, j] = scores[..., i, j] where the mask is True, -∞ where it is False

    Source: Vaswani et al. 2017, section 3.2.3.

    >>> scores = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [1.0, 3.0, 4.0]])
    >>> apply_mask(scores, np.array([True, True, False])).tolist()
    [[1.0, 2.0, -inf], [0.0, 1.0, -inf], [1.0, 3.0, -inf]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** `F.scaled_dot_product_attention(q, k, v, attn_mask=mask)` reads True as
# > *may attend*, or adds a mask of floats to the scores. `nn.MultiheadAttention` reads
# > True as *forbidden*, in `attn_mask` and in `key_padding_mask`, which is (B, T) with
# > True at padding. `is_causal=True` aligns the triangle at the upper left.
#
# The word "mask" has another use. In masked language modelling (Devlin et al. 2019; step
# 14) tokens of the input are hidden to be guessed, and every position may attend to every
# other.
#
# **Read on.** Vaswani et al. 2017, section 3.2.3, third point: 5 minutes. Look for the
# words "illegal connections".
#
# **In one sentence:** a mask gives every forbidden pair the score -∞ before the softmax,
# so that the future has no weight and no share in the denominator.
#
# The forbidden pairs have the score -∞, and no other score has changed. In step 4 the
# softmax makes weights of each row.
