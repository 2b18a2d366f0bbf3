# %% [markdown]
# # Step 16 — Attention gradient
#
# **Time** 45 minutes. **Difficulty** 3 of 5. **Needs** steps 2 to 5, and 15.
#
# **After this you can**
#
# - walk back through masked self-attention, one operation at a time,
# - say which token's query, key and value a prediction can change,
# - find a leak without looking at any output: in the gradient.
#
# *The course:* I attention · II decoder · **III training:** 15 gradients, [16 attention
# gradient], 17 block gradient, 18 decoder gradient, 19 training · IV attention today
#
# ## Before you read on
#
# "It takes great courage": four positions, causal attention, and a loss on position 1
# only, the one that has read *It takes*. Which rows of x get a gradient that is not 0?
# Write down the set, then read on. Your code will be asked the same.

# %% [markdown]
# ## The same path, backwards
#
# Attention is four operations in a row. Backwards they come in the opposite order, and
# each needs `d_` of its result and the arguments that it had:
#
#     q, k ──> scores ──> masked ──> weights ──┐
#                                        v ────┴──> out
#
#     d_q, d_k <── d_scores <── d_weights <──┐
#                                   d_v <────┴── d_out
#
# | forward | backward | shape | NumPy |
# |---|---|---|---|
# | out = weights · v | d_v = weightsᵀ · d_out | (..., T_k, d_v) | `np.swapaxes(a, -1, -2)` |
# | | d_weights = d_out · vᵀ | (..., T_q, T_k) | `@` |
# | weights = softmax(masked) | step 15 | (..., T_q, T_k) | `softmax_backward` |
# | masked: −∞ where hidden | nothing to do: see below | | |
# | scores = q · kᵀ / √d_k | d_q = d_scores · k / √d_k | (..., T_q, d_k) | `@` |
# | | d_k = d_scoresᵀ · q / √d_k | (..., T_k, d_k) | `np.swapaxes(a, -1, -2)` |
#
# Both products follow one rule: if out = A B, then d_A = d_out Bᵀ and d_B = Aᵀ d_out.
#
# In the forward pass row i of the weights says *from whom* position i reads. The transpose
# asks the other way round: column j says *who* has read position j, and all of them send
# their gradient there. So d_v[j] is a sum over the queries. The transpose swaps the last
# two axes and no others: the batch axes stay.
#
# **The mask.** A hidden key has weight 0. In softmax's gradient each row is multiplied by
# its weights, so a hidden pair gets a slope of exactly 0: the mask needs no line of its
# own. That is only true of weights that are exactly 0. With a score of −20 in place of −∞
# a weight of about two in a billion remains, and a small leak with it.

# %% [markdown]
# ## The leak law, seen from behind
#
# The future does not matter: every step has checked this in the outputs. The
# gradient says the same from the other end. A loss on positions up to t has no gradient
# at any later position:
#
#     d_out[s] = 0 for all s > t   ⟹   d_x[s] = 0 for all s > t
#
# For the question above: a loss on position 1 has a gradient in rows {0, 1}. Rows 2 and 3
# are 0, not small. *great* and *courage* cannot make the guess after *It takes* any better
# or worse. A single number there that is not 0 is a leak, and tells you where it
# comes from. Padding is the same law for a key: no loss on any *other* position has a
# gradient at a padded one.
#
# ## By hand
#
# The three tokens of steps 1 to 5, and a loss that is just the last output, so
# d_out = (0, 0, 1). The last query's weights were (0.035, 0.259, 0.705), the values
# (10, 20, 30), the output 26.70:
#
#     d_v       = weightsᵀ d_out              = (0.035, 0.259, 0.705)
#     d_weights = d_out vᵀ, last row          = (10, 20, 30)
#     d_scores  = weights · (value − 26.70)   = (−0.59, −1.74, ?)
#
# Each value is compared with the output, the weighted mean. A higher score of a key whose
# value lies above the mean raises the output, and the output is the loss here. So its slope
# is positive, and that of a key below the mean is negative. Training goes the other way: it
# lowers the score of the first and raises that of the second. The missing number is 2.33 or
# 3.33: which, and how do you know without computing it? Question 16f checks it.
#
# Rows 0 and 1 of d_weights are 0, since nothing was asked of those outputs. Now take the
# loss on the first output instead, d_out = (1, 0, 0). Token 0 sees itself only, with a
# weight of 1. Then d_v = (1, 0, 0), and d_q and d_k are 0 throughout: a softmax over one
# key is 1 whatever the score is.
#
# **Common traps.** √d_k is forgotten on the way back, or divided by twice. `d_scores @ q`
# stands where the transpose belongs: it runs whenever T_q and T_k are equal.
#
# > **In torch** `torch.autograd.grad(out, (q, k, v), d_out)` gives the three gradients, also
# > through `F.scaled_dot_product_attention`. Its fast kernels do not keep the weights either:
# > they compute them once more on the way back.

# %%
import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask, causal_mask
from exercises.step04_softmax import softmax
from exercises.step15_gradients import linear_backward, softmax_backward

# %% [markdown]
# ## Attention
#
# The weights are needed again. Recompute them with your earlier functions: nothing has to
# be kept from the forward pass.
#
# **Try first:** a single query and a single key. What must d_q be, for any d_out?


# %%
def attention_backward(d_out, q, k, v, mask=None):
    """Compute the gradients of `attention` with respect to q, k and v.

    d_out (..., T_q, d_v), q (..., T_q, d_k), k (..., T_k, d_k), v (..., T_k, d_v)
    -> (d_q, d_k, d_v), each of the shape of its argument
    mask: bool, True = may attend, broadcastable to (..., T_q, T_k); None allows everything

        d_v = weightsᵀ · d_out
        d_weights = d_out · vᵀ
        d_scores = softmax_backward(d_weights, weights)
        d_q = d_scores · k / √d_k,   d_k = d_scoresᵀ · q / √d_k

    A query that may attend to nothing has weights of 0 and contributes nothing.

    Source: Vaswani et al. 2017, section 3.2.1; Dao et al. 2022, appendix B.2.

    Two keys with equal weights, and values 0 and 4: the output grows with the second score.

    >>> q, k, v = np.ones((1, 4)), np.zeros((2, 4)), np.array([[0.0], [4.0]])
    >>> d_q, d_k, d_v = attention_backward(np.array([[1.0]]), q, k, v)
    >>> d_v.tolist(), d_k.tolist(), d_q.tolist()
    ([[0.5], [0.5]], [[-0.5, -0.5, -0.5, -0.5], [0.5, 0.5, 0.5, 0.5]], [[0.0, 0.0, 0.0, 0.0]])
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## Self-attention
#
# One x, three projections. In the forward pass x was used three times. What does that
# mean for d_x? The weights serve every position of every sequence. What does that mean
# for their gradients, and which function of step 15 knows it already?
#
# **Common traps.** Only one of the three shares arrives in d_x. Padding is passed to the
# forward pass and forgotten in the backward one.
#
# **Try first:** a d_out that is 0 but for row 1 of four. Rows 2 and 3 of d_x must be 0.


# %%
def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    """Compute the gradients of `masked_self_attention` with respect to x and the weights.

    d_out (..., T, d_v), x (..., T, d_model), w_q, w_k (d_model, d_k), w_v (d_model, d_v)
    -> (d_x, d_w_q, d_w_k, d_w_v), each of the shape of its argument
    padding: what `padding_mask` returns, (..., 1, T), True = a real token

    A loss on positions up to t has no gradient at any later position: d_x is 0 there.

    Source: Vaswani et al. 2017, section 3.2.3 (no position sees later ones).

    A loss on the first of two positions says nothing about the second:

    >>> x, weight = np.array([[1.0, 2.0], [3.0, 5.0]]), np.eye(2)
    >>> first = np.array([[1.0, 0.0], [0.0, 0.0]])
    >>> d_x, d_w_q, d_w_k, d_w_v = masked_self_attention_backward(first, x, weight, weight, weight)
    >>> d_x.tolist(), d_w_v.tolist()
    ([[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [2.0, 0.0]])
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## What you have now, and what comes next
#
# **Read on.** Vaswani et al. 2017, section 3.2.1, last paragraph and footnote 4: 5 minutes.
# Look for "extremely small gradients". Dao et al. 2022, section 3.1 and appendix B.2: 30
# minutes, the same formulas without ever storing the weights.
#
# **Bonus.** `make bonus` of Part IV asks for `streaming_backward`, which is appendix B.2. It
# can wait for step 23.
#
# **In one sentence:** the gradient of attention is attention transposed, and the mask that
# hides the future from an output hides the output from the future.
#
# You have the gradient of every part of Part I. Step 17 walks back through the rest of a
# block.
