# %% [markdown]
# # Step 17 — Block gradient
#
# **Time** 60 minutes. **Difficulty** 4 of 5. **Needs** steps 9, 11, 15 and 16.
#
# **After this you can**
#
# - walk back through layer norm, gelu, feed-forward and multi-head attention,
# - see in the formula why a gradient passes unhurt through a hundred blocks,
# - return gradients in the shape that parameters have: dicts in dicts.
#
# *The course:* I attention · II decoder · **III training:** 15 gradients, 16 attention
# gradient, [17 block gradient], 18 decoder gradient, 19 training · IV attention today
#
# ## Before you read on
#
# A stack of 12 blocks reads "It takes great courage", and the guess after *great* was
# bad. The slope of the loss starts at the top. Suppose that each of the 24 sub-layers
# passed on 0.8 of what it gets, and that there were no residual additions. How much would
# be left at the embedding of *great*: about a half, 5 %, or half a percent? Decide before
# you go on.

# %% [markdown]
# ## The stream, backwards
#
# A block adds to a stream, twice. Where x forks, one copy goes on and one goes into the
# sub-layer. Backwards a fork becomes a sum:
#
#     d_x <──(+)─────────────┬─────(+)──────────────┬──── d_out
#             ↑              │      ↑               │
#             └ ln_1 <─ attention   └ ln_2 <─ feed_forward
#
# Follow the upper line from right to left. Nothing happens to d_out but that something is
# added to it. The last block's gradient reaches the first block through no weight at all.
# So does what *great* needs to hear. Without the additions half a percent of it would be
# left: 0.8²⁴ = 0.005.
#
# The order matters. The feed-forward sub-layer came last, so it is first now, and what
# goes into the attention sub-layer's backward pass already contains its share.
#
# ## In short
#
# | forward | backward | shape | NumPy |
# |---|---|---|---|
# | y = n · gain + bias | d_gain = Σ d_out · n, d_bias = Σ d_out | (d_model,) | `sum(axis=…)` |
# | | d_n = d_out · gain | (..., T, d_model) | `*` |
# | n = (x − mean) / σ | d_x = (d_n − mean(d_n) − n · mean(d_n · n)) / σ | as x | `keepdims=True` |
# | y = gelu(x) | d_x = d_out · gelu′(x) | as x | `np.tanh` |
# | merge heads, then w_o | split the gradient | (..., n_heads, T, d_head) | `split_heads` |
# | split heads | merge the gradient | (..., T, d_model) | `merge_heads` |
# | out = x + sub-layer(x) | d_x = d_out + (the sub-layer's d_x) | (..., T, d_model) | `+` |
#
# Here σ = √(variance + eps), the means run over the features of one position, and the
# sums of d_gain and d_bias over all positions of all sequences.
#
# ## By hand
#
# Four features, x = (3, 3, 1, 1): the mean is 2, the variance 1, so n = (1, 1, −1, −1).
# The loss grows with the first result, d_out = (1, 0, 0, 0), gain 1, no eps:
#
#     mean(d_n) = 1/4        mean(d_n · n) = 1/4
#     d_x = (1 − 1/4 − 1/4,  0 − 1/4 − 1/4,  0 − 1/4 + 1/4,  ?) = (0.5, −0.5, 0, ?)
#
# The last one is yours; the example of `layer_norm_backward` checks it. Two checks of your
# own: d_x adds up to 0, since moving all features alike is taken off again. And the sum of
# d_x · n is 0 (but for eps), since stretching them is divided out.
#
# With two features these two conditions leave nothing: d_x = (0, 0). A norm of two
# different features is always (1, −1) or (−1, 1), and no small change is seen.
#
# **gelu.** Write u = √(2/π) (x + 0.044715 x³), so gelu(x) = x/2 · (1 + tanh u). The product
# rule gives two terms, and the slope of tanh u is 1 − tanh² u, times that of u:
#
#     x         −3        −1        0      1       3
#     slope     −0.012    −0.083    0.5    ?       1.012
#
# What is missing? The slopes at x and −x add up to 1, as gelu(x) − gelu(−x) = x. The
# example of `gelu_backward` checks it.
#
# > **In torch** a function with its own backward pass is a `torch.autograd.Function` with
# > two static methods, `forward` and `backward`. What `forward` saves for later with
# > `ctx.save_for_backward` is what you compute once more here.

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, multi_head_attention, split_heads
from exercises.step11_block import gelu, layer_norm
from exercises.step15_gradients import linear_backward
from exercises.step16_attention_gradient import attention_backward

# %% [markdown]
# ## Layer norm
#
# Mean and σ are made from x as well, and that is where two of the three terms come from.
# Treat them as constants and you get d_n / σ alone: it looks plausible, and it is wrong.
# In d_gain another trap is to multiply d_out by x, where n belongs.
#
# **Where the formula comes from.** Move feature j of a position of d features by a
# little. Its mean moves 1/d times as much. σ moves n_j/d times as much, since σ² is the
# mean of (x − mean)² plus eps, and the distances add up to 0. So n_i = (x_i − mean)/σ
# changes with x_j by
#
#     ∂n_i/∂x_j = ([1 if i = j] − 1/d − n_i n_j / d) / σ
#
# Multiply by d_n_i and sum over i: the three terms are those of d_x_j.
#
# **Try first:** a d_out of ones with gain 1. Every entry of d_x must be 0.


# %%
def layer_norm_backward(d_out, x, gain, eps=1e-5):
    """Compute the gradients of `layer_norm` with respect to x, gain and bias.

    d_out (..., T, d_model), x (..., T, d_model), gain (d_model,)
    -> (d_x (..., T, d_model), d_gain (d_model,), d_bias (d_model,))

        n = (x − mean) / σ,   σ = √(variance + eps),   d_n = d_out · gain
        d_x = (d_n − mean(d_n) − n · mean(d_n · n)) / σ
        d_gain = Σ d_out · n,   d_bias = Σ d_out,   over all positions

    Source: Ba et al. 2016.

    The example from the text above:

    >>> x, d_out = np.array([[3.0, 3.0, 1.0, 1.0]]), np.array([[1.0, 0.0, 0.0, 0.0]])
    >>> d_x, d_gain, d_bias = layer_norm_backward(d_out, x, np.ones(4), eps=0.0)
    >>> d_x.tolist(), d_gain.tolist(), d_bias.tolist()
    ([[0.5, -0.5, 0.0, 0.0]], [1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])
    """
    ### BEGIN SOLUTION
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    n = centred / spread
    d_n = d_out * gain
    shift = d_n.mean(axis=-1, keepdims=True)
    stretch = (d_n * n).mean(axis=-1, keepdims=True)
    positions = tuple(range(x.ndim - 1))
    d_gain, d_bias = (d_out * n).sum(axis=positions), d_out.sum(axis=positions)
    return (d_n - shift - n * stretch) / spread, d_gain, d_bias
    ### END SOLUTION


# %% [markdown]
# ## GELU and feed-forward
#
# gelu works on each number by itself, so its backward function multiplies each number of
# d_out by one slope. Use np.tanh, as in step 11. Feed-forward is three functions in a row:
# which values of the forward pass do you need again, and which gradient goes to which key?
#
# **Try first:** `gelu_backward(np.ones(1), np.zeros(1))` should be 0.5.


# %%
def gelu_backward(d_out, x):
    """Compute the gradient of `gelu`, in its tanh form, with respect to x.

    d_out and x, arrays of one shape -> the same shape

        u = √(2/π) · (x + 0.044715 x³)
        d_x = d_out · (½ (1 + tanh u) + ½ x (1 − tanh² u) · √(2/π) · (1 + 3 · 0.044715 x²))

    The result stays finite for numbers of up to a million, of either sign.

    Source: Hendrycks and Gimpel 2016, section 2.

    >>> gelu_backward(np.ones(5), np.array([-3.0, -1.0, 0.0, 1.0, 3.0])).round(3).tolist()
    [-0.012, -0.083, 0.5, 1.083, 1.012]
    """
    ### BEGIN SOLUTION
    root = (2 / np.pi) ** 0.5
    t = np.tanh(root * (x + 0.044715 * (x * x * x)))
    slope_of_inner = root * (1 + 3 * 0.044715 * (x * x))
    return d_out * 0.5 * (1 + t + x * (1 - t * t) * slope_of_inner)
    ### END SOLUTION


# %% [markdown]
# **Try first:** a d_out of zeros. All five results must be 0.


# %%
def feed_forward_backward(d_out, x, params):
    """Compute the gradients of `feed_forward` with respect to x and its parameters.

    d_out (..., T, d_model), x (..., T, d_model)
    params: w_in (d_model, d_ff), b_in (d_ff,), w_out (d_ff, d_model), b_out (d_model,)
    -> (d_x (..., T, d_model), grads), grads a dict with the keys of params

        d_hidden = d_out · w_outᵀ,   d_inner = gelu_backward(d_hidden, x w_in + b_in)
        d_x = d_inner · w_inᵀ

    Source: Vaswani et al. 2017, section 3.3.

    >>> params = {"w_in": np.eye(2), "b_in": np.zeros(2), "w_out": np.eye(2), "b_out": np.zeros(2)}
    >>> d_x, grads = feed_forward_backward(np.ones((1, 2)), np.array([[0.0, 1.0]]), params)
    >>> d_x.round(3).tolist(), grads["w_out"].round(3).tolist()
    ([[0.5, 1.083]], [[0.0, 0.0], [0.841, 0.841]])
    >>> sorted(grads)
    ['b_in', 'b_out', 'w_in', 'w_out']
    """
    ### BEGIN SOLUTION
    inner = linear(x, params["w_in"], params["b_in"])
    d_hidden, d_w_out, d_b_out = linear_backward(d_out, gelu(inner), params["w_out"])
    d_x, d_w_in, d_b_in = linear_backward(gelu_backward(d_hidden, inner), x, params["w_in"])
    return d_x, {"w_in": d_w_in, "b_in": d_b_in, "w_out": d_w_out, "b_out": d_b_out}
    ### END SOLUTION


# %% [markdown]
# ## Multi-head attention
#
# `attention_backward` takes any number of batch axes, and the heads are one more. Splitting
# and merging only move numbers: the way back moves them back. Three projections read x, so
# three gradients arrive there. The mask has no head axis. As in step 9, one with batch axes
# needs it: `np.expand_dims(mask, -3)`.
#
# Compute d_b_k. It is 0, or rounding: adding the same vector to all keys adds the same
# number to all scores of a query, and the softmax takes it off again. No check asks for
# its digits.
#
# **Try first:** a d_out of ones. Every entry of the gradient of `b_o` should be the number of
# positions.


# %%
def multi_head_attention_backward(d_out, x, params, n_heads, mask=None):
    """Compute the gradients of `multi_head_attention` with respect to x and its parameters.

    d_out (..., T, d_model), x (..., T, d_model)
    params: w_q, w_k, w_v, w_o (d_model, d_model) and b_q, b_k, b_v, b_o (d_model,)
    mask: bool, True = may attend, broadcastable to (..., T, T); None allows everything
    -> (d_x (..., T, d_model), grads), grads a dict with the keys of params

    Source: Vaswani et al. 2017, section 3.2.2.

    A single position sees itself with a weight of 1, so only w_v, w_o and their biases count:

    >>> params = {name: np.eye(2) for name in ("w_q", "w_k", "w_v", "w_o")}
    >>> params |= {name: np.zeros(2) for name in ("b_q", "b_k", "b_v", "b_o")}
    >>> d_out, x = np.array([[1.0, 0.0]]), np.array([[3.0, 5.0]])
    >>> d_x, grads = multi_head_attention_backward(d_out, x, params, n_heads=2)
    >>> d_x.tolist(), grads["w_v"].tolist(), grads["w_q"].tolist()
    ([[1.0, 0.0]], [[3.0, 0.0], [5.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]])
    """
    ### BEGIN SOLUTION
    if mask is not None and np.ndim(mask) > 2:
        mask = np.expand_dims(mask, -3)  # batch axes stay in front of the heads
    heads = [split_heads(linear(x, params[f"w_{n}"], params[f"b_{n}"]), n_heads) for n in "qkv"]
    merged = merge_heads(attention(*heads, mask))
    d_merged, d_w_o, d_b_o = linear_backward(d_out, merged, params["w_o"])
    grads, d_x = {"w_o": d_w_o, "b_o": d_b_o}, 0
    d_heads = attention_backward(split_heads(d_merged, n_heads), *heads, mask)
    for n, d_head in zip("qkv", d_heads, strict=True):
        part, grads[f"w_{n}"], grads[f"b_{n}"] = linear_backward(
            merge_heads(d_head), x, params[f"w_{n}"]
        )
        d_x = d_x + part
    return d_x, grads
    ### END SOLUTION


# %% [markdown]
# ## The block
#
# First the forward pass, as far as you need it: the input of each norm and of each
# sub-layer. Then the same lines from the last to the first.
#
# **Common traps.** The norm's gradient is put in the place of the stream's, and not added
# to it. The way back through attention starts from d_out, without what the feed-forward
# sub-layer has added. A norm is walked back with its result in place of its input.
#
# **Try first:** sub-layers whose weights and biases are all 0. What must d_x be?


# %%
def decoder_block_backward(d_out, x, params, n_heads, mask):
    """Compute the gradients of `decoder_block` with respect to x and its parameters.

    d_out (..., T, d_model), x (..., T, d_model)
    params: ln_1 and ln_2 (each gain and bias), attention and feed_forward, as in step 11
    mask: bool, True = may attend, broadcastable to (..., T, T)
    -> (d_x (..., T, d_model), grads), grads a nest of dicts with the keys of params

        d_middle = d_out + (back through ln_2 and feed_forward)
        d_x = d_middle + (back through ln_1 and attention)

    Source: He et al. 2016 (the residual sum); Xiong et al. 2020 (pre-norm).

    If both sub-layers return nothing but zeros, the gradient passes as it is:

    >>> names = ("w_q", "w_k", "w_v", "w_o", "w_in", "w_out")
    >>> zeros = {name: np.zeros((2, 2)) for name in names}
    >>> zeros |= {name.replace("w", "b", 1): np.zeros(2) for name in names}
    >>> norm = {"gain": np.ones(2), "bias": np.zeros(2)}
    >>> params = {"ln_1": norm, "ln_2": norm, "attention": zeros, "feed_forward": zeros}
    >>> d_out, x = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> d_x, grads = decoder_block_backward(d_out, x, params, 1, np.tri(2, dtype=bool))
    >>> d_x.tolist(), grads["feed_forward"]["b_out"].tolist()
    ([[1.0, 2.0], [3.0, 4.0]], [4.0, 6.0])
    """
    ### BEGIN SOLUTION
    ln_1, ln_2 = params["ln_1"], params["ln_2"]
    normed_1 = layer_norm(x, ln_1["gain"], ln_1["bias"])
    middle = x + multi_head_attention(normed_1, params["attention"], n_heads, mask)
    normed_2 = layer_norm(middle, ln_2["gain"], ln_2["bias"])

    d_normed, d_network = feed_forward_backward(d_out, normed_2, params["feed_forward"])
    d_part, d_gain_2, d_bias_2 = layer_norm_backward(d_normed, middle, ln_2["gain"])
    d_middle = d_out + d_part
    d_normed, d_attention = multi_head_attention_backward(
        d_middle, normed_1, params["attention"], n_heads, mask
    )
    d_part, d_gain_1, d_bias_1 = layer_norm_backward(d_normed, x, ln_1["gain"])
    return d_middle + d_part, {
        "ln_1": {"gain": d_gain_1, "bias": d_bias_1},
        "ln_2": {"gain": d_gain_2, "bias": d_bias_2},
        "attention": d_attention,
        "feed_forward": d_network,
    }
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: a gradient on its way down
#
# A gradient passes through twelve blocks with small weights, as they are before training. The other
# line leaves the residual additions out, so that only what the blocks add is left.

# %% tags=["active-ipynb"]
# from exercises.step11_block import decoder_block
#
# look.highway(decoder_block, decoder_block_backward)

# %% [markdown]
# ## What you have now, and what comes next
#
# **Read on.** Xiong et al. 2020, section 3: 30 minutes. Look for why the gradients of
# pre-norm blocks keep their size. He et al. 2016, section 3.2: 10 minutes, the residual
# sum in figure 2, in a network for images.
#
# **In one sentence:** backwards, every fork is a sum, and the residual stream carries
# the gradient past every sub-layer untouched.
#
# You can walk back through a whole block. Step 18 puts embedding, blocks and loss together:
# all gradients of a decoder at once.
