# %% [markdown]
# # Step 6 — Teacher-forced loss
#
# **Time** 60 minutes. **Difficulty** 3 of 5. **Needs** step 5.
#
# **After this you can**
#
# - shift a text so that every position predicts the next token,
# - compute the loss of all positions in one pass,
# - tell from a loss that something has leaked.
#
# *The course:* **I attention:** 1 queries, keys and values, 2 scores, 3 mask, 4 softmax,
# 5 output, [6 loss], 7 KV cache, 8 generation · II decoder · III training · IV attention
# today
#
# ## Before you read on
#
# "It takes great courage" gives three pairs of prefix and answer. Write them down, one
# below the other. The answer to *It takes* is *great*. Where else on your list does *great*
# stand?
#
# This step has two halves. The first is the loss: from `shift_tokens` to
# `sequence_log_prob`. The second is a model to put it on: `next_token_logits` and
# `teacher_forced_loss`. Take a break between them.

# %% [markdown]
# ## From probabilities to a loss
#
# A decoder assigns a probability to a text by reading it from left to right. The chain
# rule of probability splits it into next-token predictions:
#
#     log p(token_0 .. token_(T-1)) = Σ_t log p(token_t | token_0 .. token_(t-1))
#
# This is the autoregressive model of step 0. Training maximises this sum over the
# training texts: the token that really came next should get as much probability as
# possible. **Cross entropy** is minus the mean of the same terms. Minimising it is the
# same thing, and a mean can be compared between texts of different lengths.
#
#     cross entropy = -(1/N) Σ_t log p(token_t | token_0 .. token_(t-1))
#
# N counts the predictions. The logarithm is the natural one; its unit is called a **nat**.
#
# The model of this step has no start token, so nothing predicts the first token. It is
# given, and T tokens make T - 1 predictions.
#
# **Shapes.** V is the size of the vocabulary, and **logits** are scores for the next token,
# before any softmax:
#
#     tokens (..., T)  ->  inputs, targets (..., T - 1)
#     inputs (..., T - 1)  ->  logits (..., T - 1, V)
#     logits and targets  ->  loss, one number
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | inputs and targets | tokens_t and tokens_(t+1) | (..., T - 1) | slices |
# | log softmax | s_j - log Σ exp(s_m) | (..., T, V) | `keepdims=True` |
# | log p of the target | one of V entries | (..., T) | `np.take_along_axis` |
# | loss | minus the mean | a number | over what is not ignored |
#
# ## By hand
#
# The text is 0 1 0 2, the vocabulary has V = 3 tokens. Shift by one:
#
#     inputs    0    1    0
#     targets   1    0    2
#
# Suppose the model gives these three targets the probabilities 1/2, 1/4 and 1/2:
#
#     probability of the text after its first token    1/2 · 1/4 · 1/2 = 1/16
#     its log probability                              ln 1/16         =  ?
#     cross entropy                                    minus a third   = 0.924
#
# The middle one is yours; the example of `sequence_log_prob` checks it.
#
# A uniform guess gives every target 1/V, so its loss is ln V, here ln 3 = 1.099. A loss
# above ln V is worse than knowing nothing: confident and wrong.
#
# **Sources.** Bengio et al. 2003, section 1 (a language model as a product of next-word
# probabilities); Radford et al. 2018, section 3.1 (this objective for a masked
# decoder); Williams and Zipser 1989 (teacher forcing).

# %% [markdown]
# ## Teacher forcing
#
# In training, the input at every position is the true text, not what the model would have
# said (Williams and Zipser 1989). With the causal mask this makes training
# parallel. By step 5, row t of one masked pass is what the model says after reading tokens
# 0..t alone. So one pass makes all T - 1 predictions.
#
# **What it buys:** T - 1 training signals from one forward pass, where a loop over the
# prefixes needs T - 1 passes. One pass back gives all their gradients (step 15). **What
# it assumes:** that the texts at inference are like the true ones. There it reads its own
# output, which it never saw in training. This gap is called **exposure bias** (Ranzato et
# al. 2016).
#
# At inference the next input is the model's own output. So the model is run
# autoregressively at inference and **not** in training, where no prediction waits for
# another.
#
# ## The trap: the answer is in the input
#
# Look at the example again. The target of position t is the input of position t + 1, as
# *great* is the answer to *It takes* and stands in the next prefix. Without the causal
# mask, position t can read its own answer one place to the right. Training then drives the
# loss toward 0 by copying. At inference there is nothing to copy, and the model is useless.
# A loss that is too good is a sign of a leak.
#
# Forgetting the shift does the same behind a perfect mask: every position is then asked for
# the token that it was just given. Shift once.

# %%
import numpy as np

from exercises.step05_output import masked_self_attention

# %% [markdown]
# The shift runs along time, inside each text. The last token of one text does not
# predict the first token of the next.
#
# **Try first:** `shift_tokens(np.array([3, 1, 2]))` should be 3 1 and 1 2.


# %%
def shift_tokens(tokens):
    """Split a text into inputs and the targets that they predict: the next tokens.

    tokens (..., T), integers (int64 or int32) -> (inputs, targets), each (..., T - 1)

        inputs_t = tokens_t,   targets_t = tokens_(t+1)

    Source: Vaswani et al. 2017, section 3.1 (outputs offset by one position).
    Errors: ValueError if T < 2: one token leaves nothing to predict.

    >>> inputs, targets = shift_tokens(np.array([0, 1, 0, 2]))
    >>> inputs.tolist(), targets.tolist()
    ([0, 1, 0], [1, 0, 2])
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# Why not take the logarithm of a softmax? With logits 0 and 1000 the first probability
# is e^(-1000), which is 0 in floating point, and its logarithm is -∞. The loss of one
# bad prediction would be infinite. The true value is -1000.
#
# **Try first:** `log_softmax(np.zeros(2))` should be −0.693 twice, which is ln 1/2.


# %%
def log_softmax(logits):
    """Compute the log of the softmax over the last axis, finite even where the softmax is 0.

    logits (..., V) -> (..., V)

        log_softmax(z)_i = z_i - log Σ_j exp(z_j)

    Subtracting the same number from every logit changes nothing; choose it so that no
    exponential overflows and the sum is never 0.

    Source: Goodfellow et al. 2016, section 4.1.

    >>> log_softmax(np.log(np.array([1.0, 2.0, 1.0]))).round(4).tolist()
    [-1.3863, -0.6931, -1.3863]
    >>> log_softmax(np.array([0.0, 1000.0])).tolist()
    [-1000.0, 0.0]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# Texts of a batch differ in length, and the shorter ones are padded. Nobody wants to
# predict padding, so the targets there are set to `ignore_id`. Such a position is left
# out of the sum and out of the count. The value need not be a token: -100 is common.
#
# Take care that `ignore_id` is never used as an index, for NumPy counts a negative index
# from the end and reports nothing. Every counted token has the same weight.
#
# `np.take_along_axis(x, i[..., None], axis=-1)` takes one entry of each row (step 0).
# `x[..., i]` takes all of them from every row.
#
# **Try first:** `cross_entropy(np.zeros((1, 2)), np.array([0]))` should be ln 2 = 0.693.


# %%
def cross_entropy(logits, targets, ignore_id=None):
    """Return the mean of -log p(target) in nats where the target is not ignore_id.

    logits (..., T, V), targets (..., T), integers (int64 or int32) -> float

        -(1/N) Σ log p_t(target_t),   p_t = softmax of logits_t,   over the N positions t
                                      that count

    ignore_id may lie outside the vocabulary; None counts every position.

    Source: Radford et al. 2018, section 3.1 (as a sum of log probabilities to maximise).
    Errors: ValueError if every target is ignored: a mean over nothing has no value.

    A uniform guess over four tokens costs ln 4:

    >>> round(cross_entropy(np.zeros((3, 4)), np.array([0, 1, 2])), 4)
    1.3863

    Probabilities 1/4 and 3/4; the second position does not count:

    >>> logits = np.log(np.array([[1.0, 3.0], [1.0, 3.0]]))
    >>> round(cross_entropy(logits, np.array([1, -100]), ignore_id=-100), 4)
    0.2877
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# The sum of the same terms, one for each text, says how probable a text is.
#
# **Try first:** `sequence_log_prob(np.zeros((3, 2)), np.array([0, 1, 0]))` should be
# 3 · ln 1/2 = −2.079.


# %%
def sequence_log_prob(logits, targets):
    """Return the log probability of each text: the sum over time of log p(target).

    logits (..., T, V), targets (..., T), integers (int64 or int32) -> (...)

        log p(text) = Σ_t log p_t(target_t),   p_t = softmax of logits_t

    One number per text: time is summed, batch axes stay. A text becomes less probable with
    every token, which is why a loss uses the mean.

    Source: Bengio et al. 2003, section 1.

    Three tokens with the probabilities 1/2, 1/4 and 1/2 make -ln 16:

    >>> logits = np.log(np.array([[1.0, 2.0, 1.0], [1.0, 1.0, 2.0], [1.0, 1.0, 2.0]]))
    >>> round(float(sequence_log_prob(logits, np.array([1, 0, 2]))), 4)
    -2.7726
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# The smallest language model with attention in it: look the tokens up, add the positions,
# one layer of masked self-attention, one projection to the vocabulary. One layer of
# attention alone cannot tell in what order earlier tokens came. So every position has a
# learned vector too, which is added to the token's.
#
# `params` is a dict of arrays: `embedding` (V, d_model), `position` (T_max, d_model),
# `w_q` and `w_k` (d_model, d_k), `w_v` (d_model, d_v), `w_out` (d_v, V).
#
# **Try first:** `next_token_logits(np.array([[0, 1, 2], [1, 0, 2]]), params)` should give both
# texts the same last row, with the `params` of the example in the docstring. Their
# `position` is all zeros, so the order is lost.


# %%
def next_token_logits(tokens, params):
    """Compute scores for the next token after every position, in one forward pass.

    tokens (..., T), integers (int64 or int32) -> (..., T, V)

        x_t    = embedding[token_t] + position_t,   t = 0 .. T - 1
        logits = masked_self_attention(x) w_out

    Row t depends on tokens 0..t only.

    Source: Radford et al. 2018, section 3.1, reduced to a single layer of attention.
    Errors: ValueError if T > T_max: there is no vector for the later positions.

    With equal scores everywhere the logits are the shares of the tokens read so far:

    >>> zero, eye = np.zeros((3, 3)), np.eye(3)
    >>> params = {"embedding": eye, "position": np.zeros((4, 3)), "w_q": zero, "w_k": zero,
    ...           "w_v": eye, "w_out": eye}
    >>> next_token_logits(np.array([0, 1]), params).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# Now everything meets: shift, one pass over the true tokens, cross entropy. The last
# token is only ever a target, never an input, so a text may have T_max + 1 tokens. Run
# the model once: a loop over prefixes would give the same number, but it is not this
# function.
#
# **Try first:** `teacher_forced_loss(np.array([0, 1]), {**params, "w_out": zero})` should be
# ln 3 = 1.099: with a `w_out` of zeros, all three tokens are equally likely.


# %%
def teacher_forced_loss(tokens, params):
    """Compute the cross entropy of every next token in one pass over the true tokens.

    tokens (..., T), integers (int64 or int32) -> float, with 2 ≤ T ≤ T_max + 1

        -(1/N) Σ log p(token_(t+1) | token_0 .. token_t)   over all N predictions

    T tokens make T - 1 predictions; with batch axes, N counts those of every text.

    Source: Williams and Zipser 1989 (teacher forcing); Radford et al. 2018, section 3.1.
    Errors: ValueError if T < 2 or T > T_max + 1.

    >>> zero, eye = np.zeros((3, 3)), np.eye(3)
    >>> params = {"embedding": eye, "position": np.zeros((4, 3)), "w_q": zero, "w_k": zero,
    ...           "w_v": eye, "w_out": eye}
    >>> round(teacher_forced_loss(np.array([0, 1, 0, 2]), params), 4)
    1.326
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## With and without a mask, in training and at inference
#
#                    training                           inference
#     with a mask    one pass, T - 1 honest             one token after the other; every
#                    predictions: fast and right        row is what it was in training
#     no mask        one pass, but every position       the next token is not there: a
#                    reads its answer: fast and         task that was never trained
#                    wrong
#     no mask, one   T - 1 passes over T - 1            as trained, but without a cache
#     pass a prefix  prefixes: right and slow           (step 7)
#
# The last line is what honest training would cost without a mask. So the mask does not
# make training possible. It makes honest training parallel.
#
# Here are the losses of two small models, in nats. They learn from texts in which every
# token has two possible successors, with probabilities 3/4 and 1/4, so that nobody can
# guess better than 0.56. One model is masked, the other may look ahead:
#
#     training step      1      10     20     40     80     160
#     with a mask        2.08   1.49   0.77   0.58   0.58   0.58
#     no mask            2.08   1.68   0.85   0.25   0.21   0.16
#
#                        end of        new texts, the next    new texts, as in use: the
#                        training      token in the input     next token is not there
#     with a mask        0.58          0.57                   0.57
#     no mask            0.16          0.20                   2.04
#
# Both start at ln 8 = 2.08, a uniform guess over eight tokens. The peeking model falls
# far below 0.56, which is impossible without cheating. It does not reach 0, because the
# last position has nothing beside it to copy: there it loses 1.24, and elsewhere 0.06. In use
# it is back at the level of a guess. And look at the middle column: a loss on new texts
# does not reveal the leak, as long as the answer still stands in the input.

# %% [markdown]
# ## What you have now, and what comes next
#
# **Does adding the position not spoil the token's vector?** With many features, training
# can let the two point in different directions. Each projection can then read one of them
# and ignore the other.
#
# > **In torch** `F.cross_entropy(logits.reshape(-1, V), targets.reshape(-1),
# > ignore_index=pad_id)` is `cross_entropy`. It wants the classes on axis 1, which is
# > why everybody flattens first. The library transformers, which holds most
# > published models, shifts the `labels` itself: shift once, not twice.
#
# **Read on.** Radford et al. 2018, section 3.1: 5 minutes. Look for the sum of log
# probabilities. Ranzato et al. 2016, section 1, on exposure bias: 5 minutes.
#
# **In one sentence:** the loss is the mean surprise at each true next token, and teacher
# forcing under the mask gets all of them from one pass.
#
# You have a language model and the number that training makes small. How training does that
# is part III, steps 15 to 19. Steps 7 and 8 go the other way, to inference, where tokens
# come one by one: first a memory so that the past is not computed again, then the choice of
# the next token.
