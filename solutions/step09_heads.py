# %% [markdown]
# # Step 9 — Heads
#
# **Time** 45 minutes. **Difficulty** 2 of 5. **Needs** step 5.
#
# **After this you can**
#
# - cut features into heads and put them back,
# - run all heads as one more batch axis,
# - say what several heads cost and what they do not.
#
# *The course:* I attention · **II decoder:** [9 heads], 10 cross-attention, 11 block, 12
# decoder, 13 its cache, 14 masked words · III training · IV attention today
#
# ## Before you read on
#
# In "It takes great courage" the word *courage* may want two things at once: its
# adjective *great* and its verb *takes*. One attention has one set of weights for each
# row. What does it hand over if both get 1/2? Would you still know which was which?

# %% [markdown]
# ## Several questions at once
#
# One attention asks one question. In each row there is one set of weights, and what
# comes out is one average of the values. A verb that needs its subject and its object
# gets a mixture of the two. With several **heads** a token asks several questions at once:
# each head has queries, keys and values of its own, hence weights of its own, and what
# the heads found is put together at the end.
#
#     head_h = attention(Q_h, K_h, V_h)
#     result = [head_0, head_1, ...] W_o + b_o
#
# This takes about as much arithmetic as one wide head. The projections stay d_model wide,
# and every head takes a slice of Q, K and V: d_head = d_model / n_heads features. (Each
# of these is made from all of x.) Twice as many heads are half as wide. What grows is the
# number of attention weights: T · T for each head, hence n_heads times as many in all.
# The scores of a head are divided by √d_head, the root of the length of the vectors that
# are multiplied there. √d_model would make every head look around too evenly.
#
# **Shapes.** The head axis goes in front of time, so that the last two axes are what
# attention expects, and the heads are to it one more batch axis:
#
#     x, q, k, v     (..., T, d_model)
#     split          (..., n_heads, T, d_head)
#     weights        (..., n_heads, T, T)
#     heads' output  (..., n_heads, T, d_head)
#     merged         (..., T, d_model)
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | split | columns of head h | (..., n_heads, T, d_head) | `reshape`, `np.swapaxes` |
# | scores | divided by √d_head | (..., n_heads, T, T) | step 5 does it |
# | mask | the same for each head | (..., 1, T, T) | `mask[..., None, :, :]` if it has batch axes |
# | merge | the inverse of split | (..., T, d_model) | `np.swapaxes`, `reshape` |
#
# ## By hand
#
# The queries and keys of step 1 have four features. Cut into two heads of two, head 0
# has the first two columns, head 1 the last two:
#
#     Q = [[1, 1, 0, 0],     K = [[2, 0, 0, 0],     head 0    head 1
#          [0, 0, 1, 1],          [0, 4, 0, 2],     features  features
#          [1, 1, 1, 1]]          [2, 4, 0, 2]]     0 and 1   2 and 3
#
# The scores of each head are divided by √2, not by √4 = 2, and both heads have the
# causal mask:
#
#     head 0    [[1.414,  -∞  ,  -∞  ],     head 1    [[0.000,  -∞  ,  -∞  ],
#                [0.000, 0.000,  -∞  ],                [0.000, 1.414,  -∞  ],
#                [1.414, 2.828, 4.243]]                [0.000, 1.414, 1.414]]
#
# Give both heads the values 10, 20, 30 of step 1. They come to different results:
#
#     head 0    10, 15.00, 27.23
#     head 1    10,   ?  , 23.37
#     one head  10, 17.31, 26.70    (step 5)
#
# The missing one is yours. Question 9f checks it: `make quiz STEP=9f`. For head 0, tokens 0
# and 1 are alike in the eyes of token 1: its query is zero there. Head 1 can tell them
# apart. One head had to find a compromise.
#
# **Sources.** Vaswani et al. 2017, section 3.2.2 (multi-head attention); Michel et al.
# 2019 (many heads can be removed after training, without much loss).

# %% [markdown]
# ## The trap: a reshape that mixes positions
#
# A reshape keeps the numbers in index order, the last index running fastest, and puts
# other borders between them. Two tokens a and b with four features, to be cut into two
# heads:
#
#     in index order     a0 a1 a2 a3 b0 b1 b2 b3
#
#     wanted                        reshape to (n_heads, T, d_head)
#     head 0   a0 a1   token a      head 0   a0 a1   token a
#              b0 b1   token b               a2 a3   token a again
#     head 1   a2 a3   token a      head 1   b0 b1   token b
#              b2 b3   token b               b2 b3   token b again
#
# The shape is right, and nothing complains. But the head got tokens where it should
# have got features. Row 0 of head 1 claims to be position 0 and is token b. The
# causal mask does its work on rows and lets position 0 see row 0: the future has come
# in *before* any mask was applied. So first split the last axis into two, which keeps
# every number where it belongs, and then exchange the axes of time and heads:
#
#     (..., T, d_model) -> (..., T, n_heads, d_head) -> (..., n_heads, T, d_head)
#
# Merging goes the same way back: first exchange, then join. Without the exchange, one
# row of the result gets two positions of head 0 and nothing of head 1.
#
# If both reshapes go straight, the second undoes the first, and pieces of tokens attend
# to pieces of tokens. This reads no future, so no search for leaks finds it. But a
# query that belongs to head 1 is compared with keys that belong to head 0, and how the
# pieces fall depends on the length of the text.
#
# **Other traps.** With n_heads = 1 or T = 1 a straight reshape is right, so neither
# tells you anything. A reshape to (T, d_head, n_heads) deals the features out in
# turns, like cards: head h gets h, h + n_heads, ... Fixed numbers such as
# transpose(0, 2, 1, 3) hold for exactly one batch axis; counted from the end, axes
# keep their numbers.

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention

# %% [markdown]
# `split_heads` and `merge_heads` compute nothing. They only say which number is whose.
#
# **Try first:** `split_heads(np.arange(8).reshape(2, 4), 2)` should have 0 1 and 4 5 in head
# 0.


# %%
def split_heads(x, n_heads):
    """Split the features into those of each head.

    x (..., T, d_model) -> (..., n_heads, T, d_head), d_head = d_model / n_heads

        heads[..., h, t, :] = x[..., t, h*d_head:(h+1)*d_head]

    Raises ValueError if n_heads does not divide d_model.

    Source: Vaswani et al. 2017, section 3.2.2.

    Two tokens of four features, for two heads:

    >>> x = np.array([[0, 1, 2, 3], [10, 11, 12, 13]])
    >>> split_heads(x, 2).tolist()
    [[[0, 1], [10, 11]], [[2, 3], [12, 13]]]
    """
    ### BEGIN SOLUTION
    *batch, t, d_model = x.shape
    if d_model % n_heads:
        raise ValueError(f"n_heads, {n_heads}, does not divide d_model, {d_model}")
    # Reshaping straight to (..., n_heads, T, d_head) would mix positions and features.
    return np.swapaxes(x.reshape(*batch, t, n_heads, d_model // n_heads), -2, -3)
    ### END SOLUTION


# %% [markdown]
# **Try first:** `merge_heads(split_heads(np.eye(6), 3))` must be `np.eye(6)` again.


# %%
def merge_heads(x):
    """Put the heads' features side by side again: the inverse of `split_heads`.

    x (..., n_heads, T, d_head) -> (..., T, n_heads * d_head)

        merged[..., t, h*d_head:(h+1)*d_head] = x[..., h, t, :]

    Source: Vaswani et al. 2017, section 3.2.2.

    >>> heads = np.array([[[0, 1], [10, 11]], [[2, 3], [12, 13]]])
    >>> merge_heads(heads).tolist()
    [[0, 1, 2, 3], [10, 11, 12, 13]]
    """
    ### BEGIN SOLUTION
    *batch, n_heads, t, d_head = x.shape
    return np.swapaxes(x, -2, -3).reshape(*batch, t, n_heads * d_head)
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: whom a straight reshape lets in
#
# Every head takes the plain average of what the causal mask leaves it. Cut right, the map is a
# triangle. A straight reshape lets the future in, and two of them lose a part of the past: this
# no search for leaks finds.

# %% tags=["active-ipynb"]
# look.cut(split_heads, merge_heads)

# %% [markdown]
# ## Mixing what the heads found
#
# Side by side, the heads know nothing of each other: the first d_head features come
# from head 0 alone. w_o is what mixes them, for every output feature reads all heads.
# Cut w_o into blocks of d_head rows, one for each head, and the last line is a sum:
#
#     result = Σ_h head_h W_o[h*d_head:(h+1)*d_head] + b_o
#
# Every projection now has a bias, as in GPT-2. A query that may attend to nothing gets
# 0 from every head, and so its row of the result is b_o, not 0.
#
# (One of the four biases can never change a result. It adds the same amount to all
# scores of a query, whatever the key, and the softmax does not see it. Which one?)
#
# ## One mask for every head
#
# Who may look at whom does not depend on the head, so the mask has no head axis. But
# the scores have one. Arrays are lined up from the right. Under a batch of B texts:
#
#     scores            (B, n_heads, T, T)
#     mask (T, T)                   (T, T)    fits: one mask for all
#     mask (B, T, T)            (B, T, T)     B has landed on the heads
#     wanted            (B,       1, T, T)
#
# If B and n_heads differ, the third line is an error, and you are lucky. If they are
# equal, it runs: head 0 of every text has the mask of text 0, head 1 that of text 1,
# and so on. Two texts and two heads in a first trial hide this. A mask of two axes or
# of one, (T,), needs nothing.
#
# **Try first:** with one head, identities for the four matrices and zeros for the biases you
# should get `attention(x, x, x, mask)`.


# %%
def multi_head_attention(x, params, n_heads, mask=None):
    """Compute self-attention of x in every head, and mix the heads' outputs by w_o.

    x (..., T, d_model) -> (..., T, d_model)
    params: a dict of w_q, w_k, w_v, w_o (d_model, d_model) and b_q, b_k, b_v, b_o (d_model,)
    mask: bool, True = may attend, broadcastable to (..., T, T). It has no head axis and holds
    for every head; None allows everything. It alone decides: nothing is causal by itself.

        merge(softmax(Q_h K_hᵀ/√d_head + M) V_h of every head h) W_o + b_o,
        Q = x W_q + b_q,  K = x W_k + b_k,  V = x W_v + b_v,  each split into heads

    A query that may attend to nothing gets 0 from every head, so its row is b_o.

    Source: Vaswani et al. 2017, section 3.2.2.

    Keys that are 0 make an output the plain average of the values in sight, in every head:

    >>> eye, none = np.eye(2), np.zeros(2)
    >>> params = {"w_q": eye, "w_k": 0 * eye, "w_v": eye, "w_o": eye}
    >>> params |= {"b_q": none, "b_k": none, "b_v": none, "b_o": np.array([0.0, 100.0])}
    >>> x = np.array([[1.0, 10.0], [3.0, 20.0]])
    >>> multi_head_attention(x, params, 2).tolist()
    [[2.0, 115.0], [2.0, 115.0]]
    >>> multi_head_attention(x, params, 2, np.array([[True, False], [True, True]])).tolist()
    [[1.0, 110.0], [2.0, 115.0]]
    """
    ### BEGIN SOLUTION
    q, k, v = (
        split_heads(linear(x, params[f"w_{name}"], params[f"b_{name}"]), n_heads) for name in "qkv"
    )
    if mask is not None and np.ndim(mask) > 2:
        mask = np.expand_dims(mask, -3)  # batch axes stay in front of the heads
    return linear(merge_heads(attention(q, k, v, mask)), params["w_o"], params["b_o"])
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: three questions at once
#
# Made-up weights give each head a question of its own: what does this word go with, which word came
# before, who does it? See the row of "to": each head has it look at another word.

# %% tags=["active-ipynb"]
# look.heads(multi_head_attention)

# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** `nn.MultiheadAttention(d_model, n_heads, batch_first=True)` is this
# > step. Its three input matrices are one, `in_proj_weight` of shape (3·d_model,
# > d_model), and w_o is `out_proj`.
#
# **Read on.** Vaswani et al. 2017, section 3.2.2: 10 minutes. Look for the remark on the
# total cost.
#
# **Bonus.** `make bonus` asks for `averaging_params`, with which each token gets the
# mean of all tokens so far.
#
# **In one sentence:** each head asks its own question with its own slice of the features,
# and the output matrix puts the answers together.
#
# You have the attention that transformers use. Give it a causal mask, and it is the
# masked self-attention of a decoder; give it a padding mask alone, and it is that of an
# encoder. In both, a text attends to itself. In step 10 it attends to another one.
