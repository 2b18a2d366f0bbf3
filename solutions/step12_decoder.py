# %% [markdown]
# # Step 12 — Decoder
#
# **Time** 45 minutes. **Difficulty** 3 of 5. **Needs** step 11.
#
# **After this you can**
#
# - stack blocks into a GPT-2,
# - say what must be masked, and where,
# - name a test that finds a leak in a stack.
#
# *The course:* I attention · **II decoder:** 9 heads, 10 cross-attention, 11 block, [12
# decoder], 13 its cache, 14 masked words · III training · IV attention today
#
# ## Before you read on
#
# Two blocks, and a mask in the second only. The word *courage* changes. Does the output
# at *It* change? Follow the arrows of step 5 before you go on.

# %% [markdown]
# ## From tokens to logits
#
# All parts are there. A decoder stacks them: tokens become vectors, a list of blocks
# works on these vectors one block after the other, and what comes out at the top is
# turned into logits, one row for every position.
#
#     tokens (..., T)
#       |  embedding[tokens] + position[:T]
#     x (..., T, d_model)
#       |  blocks[0], blocks[1], ..., all under one mask: causal & padding, if there is some
#     x (..., T, d_model)
#       |  layer_norm with ln_f
#       |  @ embedding.T
#     logits (..., T, V)
#
# This is the forward pass of GPT-2, without dropout, which is for training only. Row t
# of the logits is about token t+1, and may have read the tokens 0..t.
#
# **The stream.** One array of shape (..., T, d_model) runs through the stack from the bottom
# to the top, and every block adds to it. Block 1 reads what block 0 returned, not the
# embeddings. The list holds different parameters for every block, in the order of the
# stack.
#
# **The last norm.** A block normalises what it reads, never the stream itself, which grows
# from block to block. So the top needs a norm of its own, `ln_f`, once, after the last
# block and before the logits.
#
# **The output head.** The logit of token j at position t is the dot product of the
# last vector at t with the embedding of j:
#
#     logits[t, j] = ln_f(x)[t] · embedding[j],    for all j at once: ln_f(x) @ embedding.T
#
# One table serves twice, to read tokens and to write them. That is called a tied head: both
# sides ask which directions stand for token j. The table is (V, d_model), the head needs
# (d_model, V), hence the transpose. There is no bias.
#
# **Size.** A block has 12 d² + 13 d numbers, if d_ff is 4 d. GPT-2 in its smallest form
# has 12 blocks with d = 768, a table of 50257 tokens and one of 1024 positions:
#
#     embedding  38,597,376      position  786,432      ln_f  1,536
#     12 blocks of 7,087,872 = 85,054,464              in all  124,439,808

# %% [markdown]
# ## Every block needs the mask
#
# A block moves information between positions in its attention, and nowhere else. Norms,
# feed-forward, sums and output head work on each position by itself. So for general weights
# a stack leaks if, and only if, the attention of some block does. One is enough. (Weights
# can be made up that hide a leak, for instance values that are all zero.) Draw who reads
# whom in two blocks; a line leads from what is read up to who reads it:
#
#     both masked              block 1 not masked        block 0 not masked
#
#     y_0   y_1   y_2          y_0   y_1   y_2           y_0   y_1   y_2
#      |   / |   / |            | \ / | \ / |             |   / |   / |
#     h_0   h_1   h_2          h_0   h_1   h_2           h_0   h_1   h_2
#      |   / |   / |            |   / |   / |             | \ / | \ / |
#     x_0   x_1   x_2          x_0   x_1   x_2           x_0   x_1   x_2
#
# (Lines that skip a position are left out.) Both masked: every line goes straight up or
# to the right, so no chain of lines ever leads to the left. y_0 has read x_0 alone.
#
# Block 1 not masked: y_0 reads h_1, which has read x_1. The future comes in at the top.
#
# Block 0 not masked: y_0 reads nothing but h_0. But h_0 has read x_1 already. **The
# future comes back through the block below**, and no mask above can take it out again:
# it is no longer at position 1, where it could be hidden, but in the numbers of
# position 0.
#
# A small leak grows with the stack. Let each position see the next one too. y_0 reads
# h_1, which has read x_2: two places in two blocks, twelve places in twelve blocks.
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | input | embedding + position | (..., T, d_model) | `embedding[tokens]` |
# | mask | causal and, where there is some, padding | (..., T, T) | `&` |
# | stack | one block after the other | (..., T, d_model) | the same mask in each |
# | head | ln_f(x) embeddingᵀ | (..., T, V) | `embedding.T` |
#
# ## By hand
#
# The values 10, 20, 30 of step 5, and blocks that do nothing but average what they may
# see (all scores equal; sums, norms and feed-forward left out). Then let the last
# token be 60 in place of 30, and see which rows notice:
#
#                              block 0            block 1           with 60 in place of 30
#     both masked              10    15    20     10  12.5    15    10     12.5   18.33
#     block 1 not masked       10    15    20     15    15    15    18.33  18.33  18.33
#     block 0 not masked       20    20    20     20    20    20     ?      ?      ?
#
# The three missing numbers are equal, and yours. Question 12f checks them: `make quiz
# STEP=12f`. In the first line only the last row moves. In the other two the first row does,
# though its token has not changed.
#
# None of this shows in a stack of one block: code that hands the mask to block 0 alone is
# right there. Test with two or more.

# %% [markdown]
# ## Padding
#
# A key is seen only if every mask allows it: the causal mask **and** the padding. Made
# once, they hold for the whole stack:
#
#     causal_mask(T) (T, T)   &   padding (..., 1, T)   ->   mask (..., T, T)
#
# Padding hides keys in every block. It is not enough in the first one: a padded position
# computes its rows like any other, and in the next block it would be looked at again. A
# text may begin with padding. Then its first query may attend to nothing, and its attention
# adds only b_o. Here positions count padding too: the
# first real token after three padded ones gets row 3 of `position`.
#
# **Common traps.** Giving the mask to one block only, or to all but one. Replacing the
# causal mask by the padding where there is padding. Adding the positions before every
# block, or counting them from the end of the text. Multiplying the embeddings by √d_model,
# which Vaswani et al. do and GPT-2 does not. Forgetting `ln_f`. Running blocks[0] again and
# again. Returning probabilities: the loss and the sampling want logits.
#
# **Sources.** Radford et al. 2018, section 3.1 (a decoder alone as a language model);
# Radford et al. 2019, section 2.3 (the norms in front, and one more after the last
# block); Press and Wolf 2017 (the tied head); Xiong et al. 2020 (pre-norm); Vaswani et
# al. 2017, section 3.2.3 (the mask against leftward information flow).

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step11_block import decoder_block, layer_norm

# %% [markdown]
# `params` is a nest: two tables, a list with the parameters of each block as in step 11,
# and the last norm.
#
#     params = {"embedding": (V, d_model),   "position": (T_max, d_model),
#               "blocks": [{"ln_1": {"gain", "bias"},
#                           "attention": {"w_q", "w_k", "w_v", "w_o", "b_q", ...},
#                           "ln_2": {"gain", "bias"},
#                           "feed_forward": {"w_in", "b_in", "w_out", "b_out"}}, ...],
#               "ln_f": {"gain", "bias"}}
#
# How many blocks there are stands in the list and nowhere else.
#
# The table of positions has T_max rows. A longer text has no positions to be given, and
# is refused. A text of exactly T_max tokens is allowed.
#
# **Try first:** change the last token only. Which rows of the logits may move?


# %%
def decoder_logits(tokens, params, n_heads, padding=None):
    """Compute the logits of every next token: a GPT-2 forward pass.

    tokens (..., T), integers (int64 or int32)
    n_heads: how many heads there are, in every block alike
    params: embedding (V, d_model), position (T_max, d_model), blocks (a list, each as in
    step 11), ln_f (gain, bias)
    padding: what `padding_mask` returns, bool (..., 1, T), True at real keys; None hides none
    -> (..., T, V)

        x = embedding[tokens] + position[:T]
        x = decoder_block(x, ...)  for every block, each under the causal mask and the padding
        logits = layer_norm(x) with ln_f, @ embedding.T

    Row t depends on the tokens 0..t only. Padding hides keys, never queries.

    Raises ValueError if T > T_max.

    Source: Radford et al. 2018, section 3.1; Radford et al. 2019, section 2.3.

    Two blocks, and two texts that differ in their last token: only the last row differs.

    >>> one, zero, eye = np.ones(3), np.zeros(3), np.eye(3)
    >>> norm = {"gain": one, "bias": zero}
    >>> attention = {f"w_{name}": eye for name in "qkvo"} | {f"b_{name}": zero for name in "qkvo"}
    >>> feed_forward = {"w_in": eye, "b_in": zero, "w_out": eye, "b_out": zero}
    >>> block = {"ln_1": norm, "attention": attention, "ln_2": norm, "feed_forward": feed_forward}
    >>> params = {"embedding": eye, "position": np.zeros((4, 3)), "blocks": [block, block]}
    >>> params["ln_f"] = norm
    >>> logits = decoder_logits(np.array([0, 1, 2]), params, n_heads=1)
    >>> others = decoder_logits(np.array([0, 1, 0]), params, n_heads=1)
    >>> logits.shape
    (3, 3)
    >>> np.isclose(logits, others).all(axis=-1).tolist()
    [True, True, False]
    """
    ### BEGIN SOLUTION
    t, t_max = tokens.shape[-1], len(params["position"])
    if t > t_max:
        raise ValueError(f"tokens has {t} positions, more than T_max, which is {t_max}")
    mask = causal_mask(t)
    if padding is not None:
        mask = mask & padding  # not in place: a batch of texts has more axes
    x = params["embedding"][tokens] + params["position"][:t]
    for block in params["blocks"]:
        x = decoder_block(x, block, n_heads, mask)  # the same mask in every block
    normed = layer_norm(x, params["ln_f"]["gain"], params["ln_f"]["bias"])
    return linear(normed, params["embedding"].T)
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: one layer without a mask
#
# Above, three of your blocks, the second without a mask: see whether the mask of the third can take
# back what came in. Below, your whole decoder of one, two and three blocks: triangles, all of them.

# %% tags=["active-ipynb"]
# look.layers(decoder_block, decoder_logits)

# %% [markdown]
# ## What the mask is for
#
# The probability of a text is a product, and its logarithm a sum:
#
#     log p(token_0 .. token_(T-1)) = Σ_t log p(token_t | token_0 .. token_(t-1))
#
# Training makes this sum large for the texts of the data. With the mask in every block
# row t-1 of the logits depends on tokens 0 to t-1 only, so **one** pass over the whole
# text gives every term of the sum at once (all but that of the first token, which
# nothing comes before). The inputs are the true tokens, not the model's own guesses:
# that is teacher forcing, as in step 6.
#
# It is also why a leak is so costly. If row t-1 can read token t, it has been shown its
# answer. The loss falls towards 0, and what was learned is to copy. Generation
# offers no token t to copy, and the model has learned nothing else. Neither a crash nor a
# bad loss tells you; a test that changes the future does.

# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** the whole is `GPT2LMHeadModel` of the transformers library. Its linear
# > maps are of a kind called `Conv1D`, whose weights are (d_in, d_out) as yours are.
#
# **Read on.** Radford et al. 2019, section 2.3: 5 minutes. Look for the two changes of
# the norm.
#
# **In one sentence:** a decoder is embeddings, a stack of equal blocks under one causal
# mask, a last norm, and the embedding once more as output head.
#
# **What can a second block do that one cannot?** It can look for what the first has
# found. If block 0 has written into each token which word stands before it, block 1 can
# ask: where did my own word stand before, and what came next there? In block 0 a key
# knows its own word and its position, and no neighbour.
#
# You have the forward pass of GPT-2. With the trained weights of GPT-2 in `params` it gives
# the logits of GPT-2.
#
# To write with it, one would run it on the whole text for every new token. Step 7 showed
# for one layer why that is not necessary, and the picture above shows it for the stack:
# with the mask in every block nothing that was computed at old positions has read the
# new token, in no block. So what was computed there need not be computed again. Step 13
# keeps it.
