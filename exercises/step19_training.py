# %% [markdown]
# # Step 19 — Training
#
# **Time** 60 minutes. **Difficulty** 3 of 5. **Needs** step 18.
#
# **After this you can**
#
# - write AdamW, gradient clipping and a learning rate schedule, and say what each is for,
# - train your own decoder on a text of your choice,
# - tell a model that has learned from one that has cheated.
#
# *The course:* I attention · II decoder · **III training:** 15 gradients, 16 attention
# gradient, 17 block gradient, 18 decoder gradient, [19 training] · IV attention today
#
# ## Before you read on
#
# Two numbers in the embedding of *courage* are both 1.0. The gradient of the first is 0.2,
# that of the second 200. Both take a first step of Adam at a learning rate of 0.1. Which of
# them moves further, and how far? Write it down before you go on.

# %% [markdown]
# ## From gradients to learning
#
# Plain gradient descent subtracts lr times the gradient. It has one lr for all parameters,
# whose gradients differ in size by factors of thousands. **Adam** keeps two running means
# for each number: m of the gradient, v of its square. The step is their ratio:
#
#     p ← p − lr · m̂ / (√v̂ + eps)
#
# Where the gradient always has the same sign and size, the ratio is near 1 and the step is
# lr, however large the gradient is. Where the sign changes all the time, m is near 0 and the
# parameter stays. **AdamW** also shrinks every parameter by the factor 1 − lr · λ, beside
# the gradient and not through it: this is decoupled **weight decay**, and λ is its strength.
#
# Both means start at 0, so at first they are too small: after t steps m contains
# 1 − β₁ᵗ of what it should. Dividing by that is the **bias correction**, m̂ and v̂.
#
# | what | formula | first step, g = 0.2 | NumPy |
# |---|---|---|---|
# | m | β₁ m + (1 − β₁) g | 0.02 | `map_tree` |
# | v | β₂ v + (1 − β₂) g² | 0.00004 | `g * g` |
# | m̂ | m / (1 − β₁ᵗ) | 0.2 | `beta_1**t` |
# | v̂ | v / (1 − β₂ᵗ) | 0.04 | `beta_2**t` |
# | p | (1 − lr λ) p − lr m̂ / (√v̂ + eps) | 0.999 − 0.1 = 0.899 | `np.sqrt` |
#
# Every row has the shape of its parameter. The table takes p = 1 and lr = 0.1 from the
# question above, t = 1, and the defaults β₁ = 0.9, β₂ = 0.999 and λ = 0.01. With g = 200 the
# result is 0.899 again. In the first step the gradient moves every parameter by lr, whatever
# its size, and the decay of 0.001 comes on top.
#
# **Clipping.** Now and then a batch has a huge gradient. All gradients are then scaled
# down together, so that their common norm √(Σ g²) is max_norm. The direction stays. One
# norm for the whole tree: clipping each array by itself would change the direction.
#
# **Schedule.** v̂ is a mean over few steps at first, so early steps are unreliable: the
# learning rate climbs from near 0 (**warm-up**). Later it falls along half a cosine.
#
# ## By hand
#
# **A second step.** The first gradient was 1, the second is −1 (λ = 0):
#
#     m = 0.9 · 0.1 − 0.1 = −0.01            m̂ = −0.01 / 0.19 = −0.0526
#     v = 0.999 · 0.001 + 0.001 = 0.001999   v̂ = 0.001999 / 0.001999 = ?
#
# So the parameter moves by lr · 0.0526, a twentieth of its first step: two gradients that
# disagree nearly cancel. Question 19f checks your v̂.
#
# **A norm.** Two arrays, [3] and [[4]]: the norm is 5. With max_norm = 1 they become [0.6]
# and [[0.8]]; with max_norm = 6 they stay.
#
# **A schedule.** peak 1, warmup 2, total 6, floor 0, at the steps 0, 1, 2, and so on. The
# example of `learning_rate` checks the missing number:
#
#     0.5    1    1    0.854    0.5    ?    0    0 ...
#
# ## What training shows
#
# At the start all tokens are equally likely, and the loss is about ln V. It falls fast while
# the model learns how often each token occurs, then slowly while it learns what follows
# what. **A loss that is too good is a warning.** Train the same decoder with a mask one place
# too wide (`make train CHEAT=1`): its loss falls far below the honest one, since each answer
# stands one place to the right and is seen. In a trial of 400 steps it was 0.03, and the
# honest one 0.32. When that model had to write, nothing stood there, and out came
# `tttttttt`. (With no mask at all a model has to find that place among all others, and at
# first learns more slowly than the honest one.)
#
# A low loss on the training text alone proves no leak, because a model may also learn a
# small text by heart. Judge it by texts that are new, and by what it writes.
#
# > **In torch** a step is `loss.backward()`, `nn.utils.clip_grad_norm_(parameters, 1.0)`,
# > `optimizer.step()`, `scheduler.step()` and `optimizer.zero_grad()`, with
# > `torch.optim.AdamW(parameters, lr=lr)`. Its clipping divides by norm + 1e-6; yours by the
# > norm.

# %%
import math

import numpy as np

from exercises.step18_decoder_gradient import decoder_loss_and_gradients


# %%
def map_tree(function, *trees):
    """Apply a function to the arrays at each place of trees built alike. It is yours to use."""
    first = trees[0]
    if isinstance(first, dict):
        return {key: map_tree(function, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, list):
        return [map_tree(function, *items) for items in zip(*trees, strict=True)]
    return function(*trees)


# %% [markdown]
# ## Clipping
#
# A **tree** is dicts and lists in each other, with arrays at the ends: params, grads, and
# what an optimiser keeps. `map_tree` above walks through them.
#
# **The common trap** is a norm for each array. Add up the squares of the whole tree first.
#
# **Try first:** `[np.array([3.0]), np.array([4.0])]` with a max_norm of 6 should come back as
# it is.


# %%
def clip_gradients(grads, max_norm):
    """Scale a tree of gradients down to a norm of at most max_norm.

    grads, a tree of float arrays -> (clipped, norm), clipped a tree built alike

        norm = √(Σ g²) over every number of the whole tree, before clipping
        clipped = grads · max_norm / norm where norm > max_norm, else grads

    ValueError if max_norm is not above 0. The arrays of `grads` are not changed.

    Source: Pascanu et al. 2013, section 3.2.

    >>> clipped, norm = clip_gradients({"a": np.array([3.0]), "b": [np.array([[4.0]])]}, 1.0)
    >>> norm, clipped["a"].round(3).tolist(), clipped["b"][0].round(3).tolist()
    (5.0, [0.6], [[0.8]])
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## AdamW
#
# The state belongs to one training run. What must be in it, and what is in it before the
# first step? It may look as you like: only the next function opens it.
#
# **Try first:** two states. A step with the first must not change the second.


# %%
def new_adamw(params):
    """Make the state of AdamW before its first step.

    params, a tree of float arrays -> any object that `adamw_step` understands

    Two states share nothing, and none is changed by what happens to params.

    Source: Loshchilov and Hutter 2019, algorithm 2.

    A new state has seen no gradient, so with weight decay off a gradient of 0 moves nothing:

    >>> params = {"w": np.array([1.0, -2.0])}
    >>> zero = {"w": np.zeros(2)}
    >>> params, state = adamw_step(params, zero, new_adamw(params), lr=0.1, weight_decay=0.0)
    >>> params["w"].tolist()
    [1.0, -2.0]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# The order of the formulas in the docstring is the order of the work.
#
# **Common traps.** t counts the steps of this state, and it is 1 in the first. eps stands
# beside the root, not under it. Weight decay acts on the parameter that came in. Added to
# the gradient it would be Adam with L2, which is another method.
#
# **Try first:** a parameter 1 with the gradient 0.2 and lr 0.1 should become 0.899, as in the
# table.


# %%
def adamw_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """Take one step of AdamW.

    params and grads, trees built alike -> (params, state), both new or changed as you like,
    but the arrays of the params and grads that came in are not changed

        m ← β₁ m + (1 − β₁) g          m̂ = m / (1 − β₁ᵗ)
        v ← β₂ v + (1 − β₂) g²         v̂ = v / (1 − β₂ᵗ)
        p ← (1 − lr · weight_decay) p − lr · m̂ / (√v̂ + eps)

    for every array, with t = 1 in the first step. `lr` and `weight_decay` may change from
    step to step. Use the returned state for the next step, and the one passed in no more.

    Source: Loshchilov and Hutter 2019, algorithm 2, with the decay on torch's scale, which is
    multiplied by lr; Kingma and Ba 2015, algorithm 1.

    The example from the text above: gradients of 0.2 and 200 move a parameter equally far.

    >>> params, grads = {"w": np.array([1.0, 1.0])}, {"w": np.array([0.2, 200.0])}
    >>> params, state = adamw_step(params, grads, new_adamw(params), lr=0.1)
    >>> params["w"].round(6).tolist()
    [0.899, 0.899]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## The learning rate
#
# Three cases. Which step is the first to get `peak`, and at which one does the cosine begin?
#
# **Try first:** `learning_rate(0, 1.0, 4, 8)` should be 0.25, since steps count from 0.


# %%
def learning_rate(step, peak, warmup, total, floor=0.0):
    """Compute the learning rate of a step, counted from 0.

    -> float

        peak · (step + 1) / warmup                                          step < warmup
        floor + (peak − floor) · (1 + cos(π (step − warmup) / (total − warmup))) / 2
                                                                            step < total
        floor                                                               afterwards

    With warmup = 0 there is no ramp. ValueError if warmup > total.

    Source: Loshchilov and Hutter 2017, section 3 (the cosine); Goyal et al. 2017 (warm-up).

    >>> [round(learning_rate(step, 1.0, 2, 6), 3) for step in range(8)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## A batch
#
# The text is one long stream of tokens. A batch is windows of it, one for each start, each
# a token longer than what goes into the decoder: the last token is a target only. NumPy
# does not complain about a slice that ends behind the end, nor about a start of −1. You
# must.
#
# **Try first:** `sample_batch(np.arange(9), 3, np.array([0, 5]))` should be 0 1 2 3 and
# 5 6 7 8.


# %%
def sample_batch(stream, length, starts):
    """Cut windows out of a stream of tokens.

    stream (N,), integers (int64 or int32); starts (B,), length ≥ 1 -> (B, length + 1)

        batch[b] = stream[starts[b] : starts[b] + length + 1]

    ValueError if a window does not fit: start < 0 or start + length + 1 > N.

    Source: Radford et al. 2018, section 4.1 (contiguous sequences of tokens).

    >>> sample_batch(np.array([5, 6, 7, 8, 9]), 2, np.array([0, 2])).tolist()
    [[5, 6, 7], [7, 8, 9]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## One step
#
# Four lines. The loss that you return is the one of the parameters that came in. Why does
# clipping come before AdamW, and not after it?
#
# **Try first:** two steps on the same tokens. The second loss should be the lower one.


# %%
def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    """Take one training step: loss, gradients, clipping, AdamW with its defaults.

    tokens (..., T), integers (int64 or int32); params as in step 12, state as from `new_adamw`
    -> (loss, params, state); loss is the float before the step

    Source: Loshchilov and Hutter 2019; Pascanu et al. 2013.

    A few steps on one short text make it likely:

    >>> norm = {"gain": np.ones(4), "bias": np.zeros(4)}
    >>> params = {"embedding": np.eye(3, 4), "position": np.eye(3, 4)[::-1], "blocks": []}
    >>> params, tokens = {**params, "ln_f": norm}, np.array([0, 1, 2])
    >>> state, losses = new_adamw(params), []
    >>> for _ in range(50):
    ...     loss, params, state = train_step(tokens, params, state, n_heads=1, lr=0.1)
    ...     losses.append(loss)
    >>> losses[-1] < 0.01 < 0.5 < losses[0]
    True
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## What you have now, and what comes next
#
# **Read on.** Kingma and Ba 2015, sections 2 and 3: 20 minutes. Look for the bias
# correction. Loshchilov and Hutter 2019, section 2: 15 minutes, two algorithms that differ
# in where they add the decay. Pascanu, Mikolov and Bengio 2013, section 3.2: 10 minutes, why
# clipping.
#
# **In one sentence:** clip the gradients together, let each parameter move by its own
# measure, start slowly, and stop slowly.
#
# You have built all of it: a decoder, its loss and every gradient. The loop that learns is
#
#     for step in range(total):
#         tokens = sample_batch(stream, length, random.integers(0, len(stream) - length, batch))
#         lr = learning_rate(step, peak, warmup, total)
#         loss, params, state = train_step(tokens, params, state, n_heads, lr)
#
# `make train` trains it on stories. Part IV turns to what has changed in attention since
# GPT-2, and begins with positions in step 20.
