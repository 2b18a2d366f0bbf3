# %% [markdown]
# # Step 11 — Block
#
# **Time** 60 minutes. **Difficulty** 3 of 5. **Needs** steps 5 and 9.
#
# **After this you can**
#
# - write a layer norm and a feed-forward network,
# - put both around attention in the right order,
# - say which parts move information between positions.
#
# *The course:* I attention · **II decoder:** 9 heads, 10 cross-attention, [11 block], 12
# decoder, 13 its cache, 14 masked words · III training · IV attention today
#
# ## Before you read on
#
# Change the vector of *courage* and run one block. Four parts have a chance to carry the
# change to *great*: the norms, attention, the feed-forward network, the sums. Which of
# them could do it if nobody masked anything? Decide before you go on.

# %% [markdown]
# ## Two sub-layers
#
# A decoder is a stack of blocks (also called layers) that all look alike. Each has two
# sub-layers. Attention moves information between positions. A feed-forward network then
# works on every position by itself. Before each sub-layer stands a norm, and after it a
# sum:
#
#     x ───┬──────────────────(+)───┬──────────────────────(+)───> out
#          │                   ↑    │                       ↑
#          └─ ln_1 ─ attention ┘    └─ ln_2 ─ feed_forward ─┘
#                        ↑
#                      mask
#
#     x = x + attention(ln_1(x))
#     x = x + feed_forward(ln_2(x))
#
# ## The stream
#
# Follow the upper line. From left to right nothing happens to x except that something is
# added to it, twice. This line is called the **residual stream**. Every sub-layer reads a
# copy of it, works something out, and adds that. If both sub-layers return zeros, the block
# returns x.
#
# That is why such blocks can be stacked a hundred deep: a sub-layer has to find only what
# is still missing.

# %% [markdown]
# ## Only attention lets positions meet
#
# Which position reads which, in each part of a block (row reads column)?
#
#     norm, feed-forward, sums      attention, causal mask      attention, no mask
#          1 0 0                          1 0 0                       1 1 1
#          0 1 0                          1 1 0                       1 1 1
#          0 0 1                          1 1 1                       1 1 1
#
# Everything but attention stays on the diagonal. Triangles and diagonals one after
# another make a triangle. So the mask inside attention keeps the future out of a block,
# as long as no other part connects positions.
#
# ## How a norm brings the future back
#
# The norm works on one position: it subtracts the mean of that position's features, and
# divides by the root of their variance. (A tiny **eps** in the root keeps it from being
# 0.) Here are the three tokens of step 5, normed along the right axis and along time:
#
#     x         over the features    over time       over time, before
#                                                    the third token
#     [1, 0]    [ 1, -1]             [ 0.71, -1.41]  [ 1, -1]
#     [0, 1]    [-1,  1]             [-1.41,  0.71]  [-1,  1]
#     [1, 1]    [ 0,  0]             [ 0.71,  0.71]
#
# The column over the features is fixed by each row alone. Over time, token 0 has become
# 0.71 because of token 2: before that one arrived it was 1. The mask is in place, and the
# future has come in next to it.
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | layer norm | (x - mean) / √(variance + eps) · gain + bias | that of x | `keepdims=True` |
# | gelu | tanh form | that of x | `np.tanh` |
# | feed-forward | gelu(x W_in + b_in) W_out + b_out | (..., T, d_model) | two products |
# | residual | x + part(norm(x)) | (..., T, d_model) | not `+=` on an argument |
#
# ## By hand
#
# The same tokens, one head, and an attention whose scores are all equal and which hands
# on what it reads (w_q and w_k are 0, w_v and w_o the identity). So each position gets
# the average of the normalised positions up to its own:
#
#     x         ln_1(x)      attention    x + attention
#     [1, 0]    [ 1, -1]     [1, -1]      [2, -1]
#     [0, 1]    [-1,  1]     [0,  0]      [0,  1]
#     [1, 1]    [ 0,  0]     [0,  0]      [1,  1]
#
# The feed-forward network has one feature between its two maps, a hidden unit. It looks
# at feature 0 and writes ten times what it finds to feature 1 (w_in = [[1], [0]], w_out =
# [[0, 10]], no biases):
#
#     x         ln_2(x)      hidden    gelu      x + feed_forward
#     [2, -1]   [ 1, -1]      1         0.841    [2,  7.41]
#     [0,  1]   [-1,  1]     -1        -0.159    [0,   ?  ]
#     [1,  1]   [ 0,  0]      0         0        [1,  1]
#
# The missing number is yours. Question 11f checks it: `make quiz STEP=11f`. Token 2 has
# equal features. Its variance is 0, and without eps its norm would be 0/0.
#
# **Common traps.** Adding to the normalised copy, not to the stream. Letting the second
# sub-layer read the block's input, or adding to it: it must read what the first has
# added to. Using ln_1 twice. Writing `x += ...`, which changes the caller's array.
#
# **Sources.** Radford et al. 2019, section 2.3 (the norm at the input of each sub-layer);
# Xiong et al. 2020 (pre-norm and post-norm compared); He et al. 2016 (the residual sum);
# Ba et al. 2016 (layer norm); Vaswani et al. 2017, sections 3.1 and 3.3.

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step09_heads import multi_head_attention

# %% [markdown]
# ## Layer norm
#
# A **layer norm** gives each token's vector mean 0 and variance 1, and then a gain and a
# bias that are learned. Three things are easy to get wrong without any error:
#
# - The axis. It is the last one, and mean and variance must keep it, so that they line
#   up with their rows.
# - The variance. It is the mean of the squared distances from the mean: their sum is
#   divided by d_model, not by d_model - 1.
# - eps. It is added to the variance, under the root. After the root it is another
#   function, and differs by a lot where the variance is about eps.
#
# Take the mean off before you square. The mean of the squares minus the square of the mean
# is the same on paper. But for features around a million both are around 10¹², where a
# float64 has four decimals left.
#
# **Try first:** `layer_norm(np.array([[1.0, 3.0]]), 1, 0)` should be −1 and 1, up to
# a tiny difference from eps.


# %%
def layer_norm(x, gain, bias, eps=1e-5):
    """Give each position's features mean 0 and variance 1, then scale and shift them.

    x (..., T, d_model), gain (d_model,), bias (d_model,) -> (..., T, d_model)

        y = (x - mean) / √(variance + eps) · gain + bias

    Mean and variance are those of one position's features, the last axis; the variance
    divides by d_model. The result stays right where features are as large as a million.

    Source: Ba et al. 2016.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> layer_norm(x, np.ones(2), np.zeros(2)).round(3).tolist()
    [[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]]
    >>> layer_norm(x, np.array([3.0, 3.0]), np.array([0.0, 1.0]), eps=0.3125).tolist()
    [[2.0, -1.0], [-2.0, 3.0], [0.0, 1.0]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## GELU
#
# Two linear maps in a row are one linear map. Something that is not linear has to stand
# between them. GELU multiplies x by the share of a standard normal distribution that lies
# below x: almost 1 for large x, which pass, and almost 0 for very negative ones.
#
#     x        -3        -1       0     1       3
#     gelu     -0.004    -0.159   0     0.841   2.996
#     max(x,0)  0         0       0     1       3
#
# There are two forms: the exact one, with the error function, and the tanh form, which
# GPT-2 uses. They are less than 0.0005 apart, but a model that was trained with one must be
# run with that one. Here it is the tanh form.
#
# Use np.tanh: written out with exponentials, the tanh of a large number is ∞/∞. And write
# √(2/π) as a power of 0.5: np.sqrt of a number makes float64 of a whole array of float32
# (from NumPy 2 on).
#
# **Try first:** `gelu(np.array([-1.0, 0.0, 1.0]))` should be −0.159, 0 and 0.841.


# %%
def gelu(x):
    """Multiply x by its normal distribution function, in the tanh form that GPT-2 uses.

    x, an array of any shape -> the same shape

        gelu(x) = x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))

    The result stays finite and right for numbers of up to a million, of either sign.

    Source: Hendrycks and Gimpel 2016, section 2.

    >>> gelu(np.array([-3.0, -1.0, 0.0, 1.0, 3.0])).round(3).tolist()
    [-0.004, -0.159, 0.0, 0.841, 2.996]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## Feed-forward
#
# A map to d_ff features, usually four times as many as d_model; gelu; a map back. Every
# position goes through the same weights, and none of them sees another. Each hidden
# unit asks one question of a position (a column of w_in), and its answer decides how
# much of one vector (a row of w_out) is added to the stream.
#
# The sum is not part of this function: it belongs to the block. Nothing comes after the
# second map, because whatever is added to the stream must be free to be negative.
#
# **Try first:** with a `w_out` of zeros the result should be `b_out` at every position.


# %%
def feed_forward(x, params):
    """Apply two linear maps with gelu between them, at every position alike.

    x (..., T, d_model) -> (..., T, d_model)
    params: w_in (d_model, d_ff), b_in (d_ff,), w_out (d_ff, d_model), b_out (d_model,)

        y = gelu(x w_in + b_in) w_out + b_out

    The hidden values may be as large as `gelu` allows.

    Source: Vaswani et al. 2017, section 3.3, there with relu; Radford et al. 2018.

    >>> params = {
    ...     "w_in": np.array([[1.0], [0.0]]), "b_in": np.zeros(1),
    ...     "w_out": np.array([[0.0, 10.0]]), "b_out": np.array([0.5, 0.0]),
    ... }
    >>> feed_forward(np.array([[1.0, -1.0], [-1.0, 1.0]]), params).round(2).tolist()
    [[0.5, 8.41], [0.5, -1.59]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## The block
#
# In each of the two lines, check three things: what you add to, what you read, and with
# which norm.
# The mask goes to the attention as it is. The block makes
# none of its own: it does not know what is padding.
#
# **Try first:** with all weights and biases of both sub-layers 0, the block should return x.


# %%
def decoder_block(x, params, n_heads, mask):
    """Apply one layer of the decoder, pre-norm: each sub-layer is added to what it read.

    x (..., T, d_model) -> (..., T, d_model)
    params: ln_1 and ln_2 (each a dict of gain and bias), attention (a dict as in step 9)
    and feed_forward (a dict as for that function)
    mask: bool, True = may attend, broadcastable to (..., T, T); it holds for every head

        x = x + attention(ln_1(x))
        x = x + feed_forward(ln_2(x))

    Both norms use the eps that `layer_norm` has by itself. The x that was passed in is not
    changed. It may hold numbers of up to a million, and so may the scores.

    Source: Radford et al. 2019, section 2.3; Xiong et al. 2020.

    The example from the text above:

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> norm = {"gain": np.ones(2), "bias": np.zeros(2)}
    >>> attention = {name: np.zeros((2, 2)) for name in ("w_q", "w_k")}
    >>> attention |= {name: np.eye(2) for name in ("w_v", "w_o")}
    >>> attention |= {name: np.zeros(2) for name in ("b_q", "b_k", "b_v", "b_o")}
    >>> network = {
    ...     "w_in": np.array([[1.0], [0.0]]), "b_in": np.zeros(1),
    ...     "w_out": np.array([[0.0, 10.0]]), "b_out": np.zeros(2),
    ... }
    >>> params = {"ln_1": norm, "ln_2": norm, "attention": attention, "feed_forward": network}
    >>> y = decoder_block(x, params, 1, np.tri(3, dtype=bool))
    >>> bool(np.allclose(y, [[2, 7.41], [0, -0.59], [1, 1]], atol=0.01))
    True

    Its first two rows need only the first two tokens:

    >>> bool(np.allclose(decoder_block(x[:2], params, 1, np.tri(2, dtype=bool)), y[:2]))
    True
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## Why the norm comes first
#
# In 2017 the norm stood after the sum, x = norm(x + sub-layer(x)): post-norm. The stream
# itself then goes through every norm and is rescaled each time. So the signal by which
# training corrects the lower blocks (the gradient, step 15) is rescaled 2 · n_layers
# times, and training must begin with very small steps. GPT-2 moved the norm to the input
# of each sub-layer: pre-norm. Every sub-layer still reads numbers of a known size, while
# nothing on the stream is ever rescaled. The price: the stream grows from block to block,
# so a decoder needs one more norm after the last one (step 12).

# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** the parts are `nn.LayerNorm(d_model)`, `F.gelu(x, approximate="tanh")`
# > and `nn.Linear`. The block is an `nn.TransformerEncoderLayer(..., norm_first=True)`
# > with a causal mask: torch's decoder layer has cross-attention too.
#
# **Read on.** Xiong et al. 2020, figure 1 and section 3: 15 minutes. Look for what
# post-norm and pre-norm do to the residual stream.
#
# **In one sentence:** a block adds to each token's vector what attention finds between
# positions and then what a feed-forward network makes of it.
#
# You have the part that decoders are made of. Its input and its output have the same
# shape, so the output of one block can be the input of the next. Step 12 stacks them,
# hands the same mask to each, and puts an embedding in front and logits at the end.
