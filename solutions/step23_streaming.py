# %% [markdown]
# # Step 23 — Streaming attention
#
# **Time** 75 minutes. **Difficulty** 4 of 5. **Needs** steps 2 to 5.
#
# **After this you can**
#
# - compute attention block by block, without the matrix of all scores,
# - merge two partial results as if they had been computed together,
# - explain what makes FlashAttention exact rather than approximate.
#
# *The course:* I attention · II decoder · III training · **IV attention today:** 20
# positions, 21 grouped heads, 22 more masks, [23 streaming], 24 window cache, 25 Llama
#
# ## Before you read on
#
# A book of 65,536 tokens begins with "It takes great courage". One head computes its
# matrix of scores in float64. How much memory does that one matrix take: 512 MiB, 4 GiB
# or 32 GiB? Decide before you go on.

# %% [markdown]
# ## A matrix that nobody needs
#
# The matrix has a row and a column for each token: 65,536² numbers of 8 bytes are 32 GiB.
# Nobody needs it. Each row is turned into weights, the weights mix the values, and what
# is left is a row of d_v numbers. So take the keys a block at a time. With blocks of 512
# keys, the scores of all queries take 256 MiB, and with fewer queries at once less still.
#
# The difficulty is the softmax. A weight is exp(score) divided by the sum over *all*
# keys, and while the first block is processed nobody knows that sum. The largest score is
# also unknown, and it has to be subtracted so that exp does not overflow.
#
# ## Two numbers carry everything
#
# Compute attention over one block as if no other keys existed. Keep its output, and one
# more number for each query: the log of the sum of exponentials, **lse** for short.
#
#     lse = log Σ_j exp(score_j)
#
# The sum itself may overflow; its log is never far from the largest score. Now let a
# and b be two sets of keys that share none. Over both sets the denominator is
# exp(lse_a) + exp(lse_b), and each partial output was divided by its own part of it. So
# give each its share:
#
#     lse = log(exp(lse_a) + exp(lse_b))
#     out = exp(lse_a − lse) · out_a + exp(lse_b − lse) · out_b
#
# This is exact: the same number as with one softmax, up to rounding. Merging is
# associative, so blocks can come in any grouping, and even from several machines. A set
# of no keys has lse = −∞ and out = 0. It is the neutral element: merging with it
# changes nothing.
#
# **FlashAttention** (Dao et al. 2022) is this computation as one program on a graphics
# processor. It loads a block of queries and a block of keys and values at a time into the
# small, fast memory on the chip. Scores and weights never leave it. It is exact, because
# it leaves nothing out: it only sums in another order.
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | scores | q kᵀ / √d_k, −∞ where hidden | (..., T_q, block) | `attention_scores`, `apply_mask` |
# | maximum of a row | m | (..., T_q, 1) | `scores.max(axis=-1, keepdims=True)` |
# | lse | m + log Σ exp(score − m) | (..., T_q) | `[..., 0]` drops the kept axis |
# | one block | k[..., start:stop, :] | (..., block, d_k) | `range(0, t_k, block)` |
# | share of a | exp(lse_a − lse) | (..., T_q, 1) | `[..., None]` |
#
# ## By hand
#
# The last row of step 5: scores 1, 3, 4 and values 10, 20, 30. One softmax over all
# gives 26.70. Now in two blocks:
#
#     keys        scores    weights         out      lse
#     0 and 1     1, 3      0.119, 0.881    18.81    3.127
#     2           4         1               30.00    4.000
#     merged                0.295, 0.705    26.70    ?
#
# The shares of the merged line are those of the blocks. Find its lse: log(e³·¹²⁷ + e⁴).
# The example of `merge_attention` checks it.
#
# ## Where it goes wrong
#
# - **Adding outputs without shares.** With equal lse the result is twice what it should be.
# - **−∞ minus −∞.** If both sets are empty, the largest lse is −∞, and the difference
#   is NaN. Empty sets are common: under a causal mask the first query sees nothing of
#   the last block.
# - **exp of a large number.** exp(lse_a) overflows for scores above 709. Subtract the
#   larger lse first, as the softmax subtracts the maximum.
# - **The last block is shorter.** 10 keys in blocks of 4 are 4 + 4 + 2.
# - **The mask of a block** is not a small lower triangle. Which query may see which key
#   depends on where both stand in the whole.
#
# > **In torch** `F.scaled_dot_product_attention` chooses such a kernel by itself where the
# > hardware has one, with `is_causal=True` in place of a mask of all pairs.
# > `torch.logsumexp` gives an lse, and `torch.logaddexp` merges two.
#
# **Sources.** Milakov and Gimelshein 2018, section 3 (the running maximum and sum);
# Rabe and Staats 2021, section 2 (attention in constant memory for a query); Dao et al.
# 2022, section 3.1 (FlashAttention).

# %%
import numpy as np

from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask
from exercises.step04_softmax import softmax
from exercises.step05_output import attention_output

# %% [markdown]
# ## One set of keys
#
# **Try first:** one query [0] and three keys. All scores are 0, so the output is the
# mean of the values and lse is log 3 = 1.099.
#
# Where a query may see nothing, its output is 0 and its lse is −∞, the log of an empty
# sum. NumPy warns of log(0), which `np.errstate(divide="ignore")` silences.


# %%
def partial_attention(q, k, v, mask=None):
    """Compute attention over these keys, and the log of the sum of exponentials.

    q (..., T_q, d_k), k (..., T_k, d_k), v (..., T_k, d_v), T_k ≥ 1; batch axes are equal
    mask: bool, True = may attend, broadcastable to (..., T_q, T_k); None allows everything
    -> (out (..., T_q, d_v), lse (..., T_q))

        lse = log Σ exp(score) over the allowed keys, with score = q·k / √d_k

    Where nothing is allowed, out is 0 and lse is −∞. Scores may be a million in size.

    Source: Rabe and Staats 2021, section 2; Dao et al. 2022, section 3.1.

    >>> q, k = np.array([[0.0]]), np.array([[1.0], [2.0], [3.0]])
    >>> v = np.array([[1.0], [2.0], [6.0]])
    >>> out, lse = partial_attention(q, k, v)
    >>> out.tolist(), lse.round(3).tolist()
    ([[3.0]], [1.099])
    >>> out, lse = partial_attention(q, k, v, np.array([[False, False, False]]))
    >>> out.tolist(), lse.tolist()
    ([[0.0]], [-inf])
    """
    ### BEGIN SOLUTION
    scores = attention_scores(q, k)
    if mask is not None:
        scores = apply_mask(scores, mask)
    top = scores.max(axis=-1, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)  # a row of -inf alone: -inf - -inf is NaN
    with np.errstate(divide="ignore"):  # its sum is 0, and the log of that is meant
        lse = top + np.log(np.exp(scores - top).sum(axis=-1, keepdims=True))
    return attention_output(softmax(scores), v), lse[..., 0]
    ### END SOLUTION


# %% [markdown]
# ## Two sets of keys
#
# Before you write: what should come out if a is empty, if b is, and if both are?
#
# **Try first:** lse 0 and 0, outputs 10 and 20. Both sets count alike, so the output is 15
# and lse is log 2 = 0.693.


# %%
def merge_attention(out_a, lse_a, out_b, lse_b):
    """Combine attention over two sets of keys that share none.

    out_a, out_b (..., T_q, d_v), lse_a, lse_b (..., T_q)
    -> (out (..., T_q, d_v), lse (..., T_q))

        lse = log(exp(lse_a) + exp(lse_b))
        out = exp(lse_a − lse) · out_a + exp(lse_b − lse) · out_b

    Either set or both may be empty: lse −∞, out 0.

    Source: Milakov and Gimelshein 2018, section 3; Dao et al. 2022, section 3.1.

    The example from the text above:

    >>> q, k = np.array([[1.0]]), np.array([[1.0], [3.0], [4.0]])
    >>> v = np.array([[10.0], [20.0], [30.0]])
    >>> first, last = partial_attention(q, k[:2], v[:2]), partial_attention(q, k[2:], v[2:])
    >>> out, lse = merge_attention(*first, *last)
    >>> out.round(2).tolist(), lse.round(3).tolist()
    ([[26.7]], [4.349])
    >>> out, lse = merge_attention(np.zeros((1, 1)), np.array([-np.inf]), *last)
    >>> out.tolist(), lse.tolist()
    ([[30.0]], [4.0])
    """
    ### BEGIN SOLUTION
    top = np.maximum(lse_a, lse_b)
    top = np.where(np.isneginf(top), 0.0, top)  # both empty: -inf - -inf is NaN
    part_a, part_b = np.exp(lse_a - top), np.exp(lse_b - top)
    total = part_a + part_b
    with np.errstate(divide="ignore"):
        lse = top + np.log(total)
    share_a, share_b = (part / np.where(total > 0, total, 1.0) for part in (part_a, part_b))
    return share_a[..., None] * out_a + share_b[..., None] * out_b, lse
    ### END SOLUTION


# %% [markdown]
# ## All keys, a block at a time
#
# Begin with the empty set, and merge one block after the other into it. What you hold
# at any time is one block of scores, the output so far and its lse. The queries are the
# last T_q of the T_k positions, as everywhere.
#
# A boolean mask of T_q · T_k entries would be an eighth of the matrix that you avoid,
# which is still too much: make the mask of a block for that block.
#
# **Try first:** a block of 1 and a block as long as the text. Both must give what `attention`
# gives, up to rounding.


# %%
def streaming_attention(q, k, v, block, causal=False):
    """Compute `attention` on at most `block` keys at a time.

    q (..., T_q, d_k), k (..., T_k, d_k), v (..., T_k, d_v), T_k ≥ 1; batch axes are equal
    causal: the mask is `causal_mask`, and T_k is at least T_q
    -> (..., T_q, d_v)

    No array of T_q · T_k entries is ever formed, a mask included.

    Source: Dao et al. 2022, section 3.1, algorithm 1.
    Errors: ValueError if block < 1.

    >>> q = np.array([[1.0]])
    >>> k, v = np.array([[1.0], [3.0], [4.0]]), np.array([[10.0], [20.0], [30.0]])
    >>> [streaming_attention(q, k, v, block).round(2).tolist() for block in (1, 2, 5)]
    [[[26.7]], [[26.7]], [[26.7]]]
    """
    ### BEGIN SOLUTION
    if block < 1:
        raise ValueError(f"block must be at least 1, and is {block}")
    t_q, t_k = q.shape[-2], k.shape[-2]
    query_positions = np.arange(t_k - t_q, t_k)
    out, lse = np.zeros((*q.shape[:-1], v.shape[-1])), np.full(q.shape[:-1], -np.inf)
    for start in range(0, t_k, block):
        here = slice(start, start + block)  # the last block may be shorter
        keys = k[..., here, :]
        key_positions = np.arange(start, start + keys.shape[-2])
        mask = key_positions <= query_positions[:, None] if causal else None
        out, lse = merge_attention(out, lse, *partial_attention(q, keys, v[..., here, :], mask))
    return out
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: the running sum
#
# One query meets more and more keys, two at a time. The log of the sum only grows, and it is
# never below the largest score so far.

# %% tags=["active-ipynb"]
# look.running(partial_attention, merge_attention)

# %% [markdown] tags=["active-ipynb"]
# ## To look at: the memory
#
# The most that your function needs at once, beside the matrix that it does not form. One is a
# line, the other a parabola.

# %% tags=["active-ipynb"]
# look.memory(streaming_attention)

# %% [markdown]
# ## What you have now, and what comes next
#
# **Read on.** Dao et al. 2022, section 3.1: 30 minutes. Look for the two rescaling factors in
# algorithm 1. Milakov and Gimelshein 2018, section 3: 10 minutes, the same idea four years
# earlier, in one page.
#
# **Bonus.** `make bonus` asks for `streaming_backward`: the gradient of `attention`, block by
# block.
#
# **In one sentence:** a partial result and the log of its denominator are all that has to be
# remembered of any number of keys.
#
# You can compute attention over any number of keys in little memory. Step 24 forgets keys
# altogether: a cache that stays as small as its window.
