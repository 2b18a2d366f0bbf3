# %% [markdown]
# # Step 15 — Gradients
#
# **Time** 60 minutes. **Difficulty** 3 of 5. **Needs** steps 1, 4 and 6.
#
# **After this you can**
#
# - say how each number that went into a loss would change it,
# - run four functions of Part I backwards: linear map, softmax, loss and embedding,
# - check any gradient yourself, without trusting a formula.
#
# *The course:* I attention · II decoder · **III training:** [15 gradients], 16
# attention gradient, 17 block gradient, 18 decoder gradient, 19 training · IV attention
# today
#
# ## Before you read on
#
# A model has read *It takes* and gives the next word of "It takes great courage" these
# probabilities:
#
#     great 1/4    much 1/4    courage 1/2
#
# The text goes on with *great*. You may change the three logits a little, so that the loss
# falls. Which of them should rise, and which should fall most? Decide before you go on: the
# answer is the first gradient of this step.

# %% [markdown]
# ## Walking back
#
# Training changes every parameter a little, in the direction that makes the loss smaller.
# So it needs one number for each parameter: by how much does the loss grow if this
# number grows? That is the **gradient**. Written d_x, it has the shape of x:
#
#     d_x[i] = ∂loss / ∂x[i]
#
# A decoder is a chain of functions. Its gradient is found from the end to the start,
# which is called the **backward pass**. Each function is asked one question only: *you
# returned `out`, and `d_out` says for each entry of it how fast the loss grows with that
# entry. How fast does the loss grow with what you were given?* The answer is the chain
# rule. Every path from x[i] to the loss adds its part:
#
#     d_x[i] = Σ_o d_out[o] · ∂out[o]/∂x[i]
#
# For out = x W the slope ∂out[o]/∂x[i] is W[i, o], so d_x = d_out Wᵀ. A backward function
# takes `d_out` first, then the arguments of the forward function. (As `d_out` is a gradient
# here, the sizes that step 1 calls d_in and d_out are n_in and n_out.) The walk begins with
# 1, the slope of the loss with itself:
#
#     forward     tokens ──> x ──> logits ──> loss
#     backward    d_table <── d_x <── d_logits <── 1
#
# One backward pass costs about twice as much as a forward pass, however many parameters
# there are. Asking for each parameter by itself would cost a forward pass for each.
#
# ## In short
#
# | forward | backward | shape | NumPy |
# |---|---|---|---|
# | out = x W + b | d_x = d_out Wᵀ | that of x | `d_out @ weight.T` |
# | the same W for every position | d_W = Σ x[t]ᵀ d_out[t] | (n_in, n_out) | one matrix product |
# | the same b for every position | d_b = Σ d_out[t] | (n_out,) | a sum |
# | w = softmax(s) | d_s[i] = w[i] (d_w[i] − Σ_j w[j] d_w[j]) | that of w | `keepdims=True` |
# | mean of −log p(target) | (p − one-hot of the target) / N | (..., T, V) | `put_along_axis` |
# | table[tokens] | each row of d_x goes to its token's row | (V, d_model) | `np.add.at` |
#
# Two rules cover all of it. **Where a value is used twice, its gradients add up.** A
# weight serves every position of every sequence, so its gradient is a sum over all of
# them. **The shape of a gradient is the shape of its value.** When shapes do not fit,
# the sum or the transpose is missing.
#
# The **one-hot** vector of a target has V numbers: a 1 at the target's id, and 0 elsewhere.
# The one of id 0 is (1, 0, 0) where V = 3.

# %% [markdown]
# ## By hand
#
# **The loss.** The probabilities from above, p = (1/4, 1/4, 1/2), the target *great*, and
# N = 2 predictions in the text:
#
#     p − one-hot     (−3/4, 1/4, 1/2)
#     divided by 2    (−0.375, 0.125, 0.25)
#
# Raising the logit of *great* lowers the loss. The other two should fall, *courage* most.
# The three numbers add up to 0: raising all logits alike changes nothing.
#
# **The softmax.** Weights w = (1/4, 1/4, 1/2), and the loss grows with them by
# d_w = (1, 0, 2). The weighted mean of d_w is 1/4 · 1 + 1/4 · 0 + 1/2 · 2 = 1.25:
#
#     d_s = w · (d_w − 1.25) = (−0.0625, −0.3125, ?)
#
# The last one is yours; question 15b checks it. These numbers, too, add up to 0.
#
# **The linear map.** Two positions, one output feature:
#
#     x = [[1, 2],    W = [[10],    d_out = [[1],
#          [3, 4]]         [1]]              [10]]
#
#     d_x = d_out Wᵀ = [[10, 1], [100, 10]]
#     d_W = xᵀ d_out = [[1·1 + 3·10], [2·1 + 4·10]] = [[31], [42]]
#     d_b = 1 + 10 = 11
#
# **The embedding.** Tokens 2 0 2 and d_x = [[1, 1], [2, 2], [4, 4]]. Row 2 of the table
# was read twice and gets [5, 5]. Row 0 gets [2, 2]. Row 1 was not read and gets zeros.
#
# ## Check it yourself
#
# A gradient is a slope, and a slope can be measured. Move one number of x up by h and
# down by h, and look at the loss both times:
#
#     d_x[i] ≈ (loss(x[i] + h) − loss(x[i] − h)) / 2h
#
# This is a **central difference**. Its error is about h² plus rounding/h, so h = 1e-6
# gives nine or ten digits in float64. The cell below does it for all numbers of an array.
# It is slow, but it needs no formula. To make a loss of any `out`, multiply it by some
# `d_out` and add everything up:
#
#     central_differences(lambda x: (softmax(x) * d_weights).sum(), scores)
#
# > **In torch** nobody writes this step. `loss.backward()` walks back by itself and adds
# > each gradient to `x.grad`, which is why a training loop calls `zero_grad()` before each
# > step. `torch.autograd.gradcheck` compares with central differences, as you will.

# %%
import numpy as np

from exercises.step04_softmax import softmax


# %%
def central_differences(loss, x, h=1e-6):
    """Measure the gradient of `loss`, a function of one array, at x. It is yours to use."""
    slopes = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        moved = x.copy()
        moved[index] = x[index] + h
        above = loss(moved)
        moved[index] = x[index] - h
        slopes[index] = (above - loss(moved)) / (2 * h)
    return slopes


# %% [markdown]
# ## The linear map
#
# `x` may have any number of batch axes, and weight and bias served all of them. Which
# axes must disappear in d_weight, and which in d_bias? Make one long list of positions
# first: `x.reshape(-1, x.shape[-1])`.
#
# **The common trap** is a mean where a sum belongs. The mean is already in the loss.
#
# **Try first:** an x of shape (2, 3, 4), a weight (4, 5) and a d_out of ones. d_weight must
# be (4, 5), and each of the five entries of d_bias must be 6.


# %%
def linear_backward(d_out, x, weight):
    """Compute the gradients of `linear` with respect to x, weight and bias.

    d_out (..., T, n_out), x (..., T, n_in), weight (n_in, n_out)
    -> (d_x (..., T, n_in), d_weight (n_in, n_out), d_bias (n_out,))

        d_x = d_out · weightᵀ
        d_weight = Σ over all positions of x[t]ᵀ · d_out[t]
        d_bias = Σ over all positions of d_out[t]

    The bias itself is not needed: the result grows with it as it is.

    Source: Goodfellow et al. 2016, section 6.5.4.

    The example from the text above:

    >>> x, weight = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[10.0], [1.0]])
    >>> d_x, d_weight, d_bias = linear_backward(np.array([[1.0], [10.0]]), x, weight)
    >>> d_x.tolist(), d_weight.tolist(), d_bias.tolist()
    ([[10.0, 1.0], [100.0, 10.0]], [[31.0], [42.0]], [11.0])
    """
    ### BEGIN SOLUTION
    positions = x.reshape(-1, x.shape[-1])
    d_positions = d_out.reshape(-1, d_out.shape[-1])
    return d_out @ weight.T, positions.T @ d_positions, d_positions.sum(axis=0)
    ### END SOLUTION


# %% [markdown]
# ## The softmax
#
# Each weight depends on every score of its row, because all of them are in the sum below
# the fraction. Written out, the slopes are a matrix, ∂w[i]/∂s[j] = w[i] (δ[i, j] − w[j]),
# with δ[i, j] = 1 where i = j and 0 elsewhere. You never need the matrix: multiplied by d_w
# it becomes one weighted mean per row.
#
# **Try first:** a d_weights of ones. Every result must be 0, since the weights of a row add
# up to 1 whatever the scores are. And what happens in a row of zeros, a query that may
# attend to nothing?


# %%
def softmax_backward(d_weights, weights):
    """Compute the gradient of `softmax` over the last axis with respect to the scores.

    d_weights (..., T_k), weights (..., T_k), a result of `softmax` -> (..., T_k)

        d_scores[i] = weights[i] · (d_weights[i] − Σ_j weights[j] · d_weights[j])

    Each row of the result adds up to 0. A row of weights that is all 0 gives zeros.

    Source: Goodfellow et al. 2016, sections 6.2.2 and 6.5.

    The example from the text above:

    >>> weights = np.array([0.25, 0.25, 0.5])
    >>> softmax_backward(np.array([1.0, 0.0, 2.0]), weights).tolist()
    [-0.0625, -0.3125, 0.375]
    """
    ### BEGIN SOLUTION
    mean = (weights * d_weights).sum(axis=-1, keepdims=True)
    return weights * (d_weights - mean)
    ### END SOLUTION


# %% [markdown]
# ## The loss
#
# The loss is the end of the chain, so there is no `d_out`: it is 1. Softmax, logarithm
# and mean have long formulas by themselves. Together they leave a difference: the
# probabilities that the model gave, minus the ones that it should have given.
#
# Which N is it? Look at what `cross_entropy` divides by: the counted targets of the whole
# batch, not the length of a sequence. An ignored target may be an id like −100: do not
# index with it.
#
# **Try first:** all logits 0, V = 4 and one target. Its slope is −3/4, the others' is 1/4.


# %%
def cross_entropy_backward(logits, targets, ignore_id=None):
    """Compute the gradient of `cross_entropy` with respect to the logits.

    logits (..., T, V), targets (..., T), integers (int64 or int32) -> (..., T, V)

        d_logits[t] = (softmax(logits[t]) − one-hot(targets[t])) / N

    N is the number of targets, in the whole batch, that are not ignore_id. A position whose
    target is ignore_id gets zeros. ValueError if every target is.

    Source: Goodfellow et al. 2016, section 6.2.2.3; Bridle 1990.

    The example from the text above, with a second position that is ignored:

    >>> logits = np.log([[0.25, 0.25, 0.5], [0.2, 0.2, 0.6]])
    >>> cross_entropy_backward(logits, np.array([0, -1]), ignore_id=-1).round(3).tolist()
    [[-0.75, 0.25, 0.5], [0.0, 0.0, 0.0]]
    >>> cross_entropy_backward(logits, np.array([0, 2])).round(3).tolist()
    [[-0.375, 0.125, 0.25], [0.1, 0.1, -0.2]]
    """
    ### BEGIN SOLUTION
    counted = np.full(targets.shape, True) if ignore_id is None else targets != ignore_id
    if not counted.any():
        raise ValueError("targets must hold at least one position that is not ignore_id")
    ids = np.where(counted, targets, 0)[..., None]  # an ignored target may be no index
    d_logits = softmax(logits)
    chosen = np.take_along_axis(d_logits, ids, axis=-1)
    np.put_along_axis(d_logits, ids, chosen - 1, axis=-1)
    return np.where(counted[..., None], d_logits, 0) / np.count_nonzero(counted)
    ### END SOLUTION


# %% [markdown]
# ## The embedding
#
# Reading a row is a linear map of a one-hot vector, so its gradient is a sum once more.
# Predict: `table[tokens] += d_x` with a token that occurs twice. Does the second += see
# the first? NumPy reads all rows, adds, and writes all rows. One of the two is lost.
#
# **Try first:** tokens 0 0 and a d_x of ones. Row 0 should hold 2 everywhere.


# %%
def embedding_backward(d_x, tokens, vocabulary):
    """Compute the gradient with respect to the table that `table[tokens]` was read from.

    d_x (..., T, d_model), tokens (..., T), integers (int64 or int32); vocabulary V
    -> (V, d_model)

        d_table[j] = Σ of d_x[t] over all positions t with tokens[t] = j

    A token that occurs several times gets all its gradients, one that does not occur zeros.

    Source: Bengio et al. 2003, section 2 (the table is learned with everything else).

    The example from the text above:

    >>> d_x = np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
    >>> embedding_backward(d_x, np.array([2, 0, 2]), 4).tolist()
    [[2.0, 2.0], [0.0, 0.0], [5.0, 5.0], [0.0, 0.0]]
    """
    ### BEGIN SOLUTION
    d_table = np.zeros((vocabulary, d_x.shape[-1]), dtype=d_x.dtype)
    np.add.at(d_table, tokens, d_x)  # unlike +=, it adds a row for each time it is named
    return d_table
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: what each guess should become
#
# First what a model might believe after each prefix, then how each logit should move.
# The true next word is in the diagonal. The worse the guess, the more it should rise.

# %% tags=["active-ipynb"]
# look.wishes(cross_entropy_backward)

# %% [markdown]
# ## What you have now, and what comes next
#
# **Read on.** Rumelhart, Hinton and Williams 1986: 20 minutes for four pages. Look for
# the place where the derivatives walk from the top layer back to the bottom one.
# Goodfellow, Bengio and Courville 2016, section 6.5: 40 minutes, the chain rule on a
# graph of operations. Griewank and Walther 2008, chapters 3 and 4, say why going
# backwards costs so little.
#
# **Bonus.** `make bonus` asks for `smoothed_backward`: the gradient of a loss that wants a
# little less than certainty.
#
# **In one sentence:** a backward function turns the slope of its result into the slopes of
# its arguments, and sums wherever a value was used more than once.
#
# You can run four functions backwards. Step 16 puts the first two together and walks back
# through attention.
