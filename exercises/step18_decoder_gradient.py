# %% [markdown]
# # Step 18 — Decoder gradient
#
# **Time** 45 minutes. **Difficulty** 4 of 5. **Needs** steps 6, 12, 15 and 17.
#
# **After this you can**
#
# - compute the loss of a whole decoder and all of its gradients, in one pass each way,
# - say what a tied embedding learns as a reader and what it learns as a writer,
# - estimate what a training step costs before you run it.
#
# *The course:* I attention · II decoder · **III training:** 15 gradients, 16 attention
# gradient, 17 block gradient, [18 decoder gradient], 19 training · IV attention today
#
# ## Before you read on
#
# A decoder with a vocabulary of 1000 tokens is trained on one text of four tokens, "It takes
# great courage". How many of the 1000 rows of its embedding get a gradient that is not 0:
# 3, 4 or 1000? Decide. The answer is further down.

# %% [markdown]
# ## One pass forward, one pass back
#
# Masked self-attention makes three predictions from four tokens in one forward pass. Their
# mean loss is one number, so one backward pass gives the gradients of all three at once,
# added up. This is what the mask buys: a model without one would need a pass for each
# prefix, forward and back.
#
#     inputs ─> x_0 ─ block 0 ─> x_1 ─ block 1 ─> x_2 ─ ln_f ─> h ─> logits ─> loss
#                                                                targets ──┘
#     d_x_0 <─ block 0 ─ d_x_1 <─ block 1 ─ d_x_2 <─ ln_f ─ d_h <─ d_logits <─ 1
#
# | forward | backward | shape | NumPy |
# |---|---|---|---|
# | loss = cross entropy | step 15 | (..., T−1, V) | `cross_entropy_backward` |
# | logits = h · embeddingᵀ | d_h = d_logits · embedding | (..., T−1, d_model) | `@` |
# | | writer's share: Σ d_logits[t]ᵀ h[t] | (V, d_model) | `linear_backward` |
# | h = layer norm of x | step 17 | (..., T−1, d_model) | `layer_norm_backward` |
# | blocks, first to last | step 17, last to first | a list of dicts | `reversed` |
# | x = embedding[inputs] | reader's share | (V, d_model) | `embedding_backward` |
# | + position[:T−1] | a sum over the batch | (T_max, d_model) | `np.zeros_like` |
#
# Here x_0, x_1 and x_2 are the vectors of all positions, before and after each block.
#
# Backwards, each block needs the x that it read. So keep the list of them on the way
# forward. What happens inside a block is computed again, by step 17: this is called
# **recomputation**, or checkpointing. It costs about a third more time and saves most of
# the memory.
#
# ## One table, two jobs
#
# The embedding is used twice: its rows are read at the bottom, and at the top every row
# is compared with every position. Used twice means two gradients, added up:
#
# - **As a reader**, a row gets a gradient for each time its token stands in the *inputs*.
#   "It takes great courage" has three inputs, so three rows.
# - **As a writer**, every row gets one: each token that did *not* come had a probability,
#   and should have had less. So the answer above is 1000.
#
# *courage* is the last token: a target, never an input. Nothing reads its row, and all that
# it learns here it learns as a writer. So does a word that occurs nowhere.
#
# A check for the writer's share alone: over the vocabulary it adds up to 0, because each
# row of d_logits does.
#
# `position` has T_max rows, and a text uses the first T − 1 of them. The others get zeros,
# in an array of the table's full shape.
#
# ## By hand: what does a step cost?
#
# A matrix product with P parameters costs 2 P arithmetic operations for each token: one
# multiplication and one addition. Backwards there are two products, for d_x and for
# d_weight. So a training step costs about
#
#     6 · P · tokens,   and with recomputation   8 · P · tokens
#
# GPT-2's smallest form has 124 million parameters. For 1024 tokens that is 6 · 124e6 · 1024
# = 7.6e11 operations. Without recomputation, how many million does your decoder of 100,000
# parameters take for 1000 tokens? The number is yours. Question 18d checks it: `make quiz
# STEP=18d`. On a processor that does 1e10 operations each second, two minutes are enough for
# about 2000 such steps, or for 1500 with recomputation. The rule leaves out scores and
# weights, which grow with T² and are small while T is small.
#
# > **In torch** two names for one parameter make a tied embedding:
# > `head.weight = embedding.weight`. Its `.grad` then holds both shares.
# > `torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)` computes a block again on
# > the way back.

# %%
import numpy as np

from exercises.step03_mask import causal_mask
from exercises.step06_loss import cross_entropy, shift_tokens
from exercises.step11_block import decoder_block, layer_norm
from exercises.step12_decoder import decoder_logits
from exercises.step15_gradients import cross_entropy_backward, embedding_backward, linear_backward
from exercises.step17_block_gradient import decoder_block_backward, layer_norm_backward

# %% [markdown]
# A decoder of two blocks, small enough to try things with.


# %%
def small_decoder():
    """Draw the parameters of a decoder: 5 tokens, T_max 6, d_model 4, two blocks."""
    draw = np.random.RandomState(0).standard_normal
    norm = {"gain": np.ones(4), "bias": np.zeros(4)}
    blocks = [
        {
            "ln_1": norm,
            "ln_2": norm,
            "attention": {f"w_{name}": draw((4, 4)) for name in "qkvo"}
            | {f"b_{name}": draw(4) for name in "qkvo"},
            "feed_forward": {
                **{"w_in": draw((4, 8)), "b_in": draw(8)},
                **{"w_out": draw((8, 4)), "b_out": draw(4)},
            },
        }
        for _ in range(2)
    ]
    tables = {"embedding": draw((5, 4)), "position": draw((6, 4))}
    return {**tables, "blocks": blocks, "ln_f": norm}


# %% [markdown]
# ## The loss
#
# Steps 6 and 12 have all of it. Which tokens go into the decoder, and which are targets?
# One token more than T_max is allowed, as the last one needs no position.
#
# `ignore_id` says which *targets* do not count, for example padding at the end. As input
# such a token is read like any other: it has a row in the embedding, and it is a key. Why
# does that not disturb anything, if it stands at the end?
#
# **Try first:** an embedding of zeros. All words are then alike, and the loss is ln V.


# %%
def decoder_loss(tokens, params, n_heads, ignore_id=None):
    """Compute the cross entropy of every next token under the decoder.

    tokens (..., T), integers (int64 or int32), 2 ≤ T ≤ T_max + 1; params as in step 12
    -> float
    ignore_id: targets equal to it do not count; None counts all

    One pass of `decoder_logits` over the true tokens. ValueError if there are fewer than 2
    tokens, more than T_max + 1, or no target that counts.

    Source: Radford et al. 2018, section 3.1.

    A decoder that gives all four tokens the same logits has a loss of ln 4 = 1.386:

    >>> norm = {"gain": np.ones(2), "bias": np.zeros(2)}
    >>> zeros = {"embedding": np.zeros((4, 2)), "position": np.eye(2), "blocks": [], "ln_f": norm}
    >>> round(decoder_loss(np.array([0, 1, 3]), zeros, n_heads=1), 3)
    1.386
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## All gradients
#
# `grads` has the keys of `params`, with a list of as many blocks, in the order of the
# stack. You walk from the last block to the first, so mind how you fill that list.
#
# **Common traps.** Only one of the two shares of the embedding. The reader's share given to
# the targets' rows. d_position with T − 1 rows, or with a batch axis.
#
# **Try first**, before you trust it: the gradient of one array at a time, here that of
# the embedding, against the differences of step 15. The two should agree to about 1e-9.
#
#     from exercises.step15_gradients import central_differences
#     tokens, small = np.array([0, 3, 1, 3]), small_decoder()
#     loss, grads = decoder_loss_and_gradients(tokens, small, n_heads=2)
#     other = central_differences(
#         lambda table: decoder_loss(tokens, {**small, "embedding": table}, 2),
#         small["embedding"],
#     )


# %%
def decoder_loss_and_gradients(tokens, params, n_heads, ignore_id=None):
    """Compute `decoder_loss` and its gradient with respect to every parameter.

    tokens (..., T), integers (int64 or int32), 2 ≤ T ≤ T_max + 1; params as in step 12
    -> (loss, grads), grads a nest of dicts and lists built like params

    One forward and one backward pass. The embedding gets the gradients of both its uses;
    positions that no token used get zeros. ValueErrors as for `decoder_loss`.

    Source: Rumelhart et al. 1986; Press and Wolf 2017 (one table for both).

    Two tokens, one prediction, both guesses at 1/2: the head's share is ±0.5 · h, and
    token 0, which was read, changes nothing through a norm of two features:

    >>> norm = {"gain": np.ones(2), "bias": np.zeros(2)}
    >>> params = {"embedding": np.zeros((2, 2)), "position": np.eye(3, 2), "blocks": []}
    >>> loss, grads = decoder_loss_and_gradients(np.array([0, 1]), {**params, "ln_f": norm}, 1)
    >>> round(loss, 3), grads["embedding"].round(3).tolist()
    (0.693, [[0.5, -0.5], [-0.5, 0.5]])
    >>> grads["position"].shape, grads["blocks"], sorted(grads["ln_f"])
    ((3, 2), [], ['bias', 'gain'])
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## What you have now, and what comes next
#
# **Read on.** Press and Wolf 2017, section 3: 15 minutes. Look for the two shares, written
# out. Kaplan et al. 2020, section 2.1: 10 minutes, the 6 P for each token. Chen et al. 2016,
# section 4: 20 minutes, recomputation.
#
# **Bonus.** `make bonus` asks for `accumulate_gradients`: the gradients of a batch that does
# not fit into memory at once.
#
# **In one sentence:** one masked forward pass makes all predictions, and one backward
# pass gives the gradient of all of them to every parameter.
#
# You have every gradient of a decoder. In step 19 they are put to use: the decoder learns.
