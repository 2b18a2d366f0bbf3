# %% [markdown]
# # Step 24 — Window cache
#
# **Time** 45 minutes. **Difficulty** 3 of 5. **Needs** steps 7 and 22.
#
# **After this you can**
#
# - read a text of any length with a cache that does not grow,
# - say how many keys a window really needs,
# - handle a chunk that is longer than the window itself.
#
# *The course:* I attention · II decoder · III training · **IV attention today:** 20
# positions, 21 grouped heads, 22 more masks, 23 streaming, [24 window cache], 25 Llama
#
# ## Before you read on
#
# The window is 3: a token sees itself and the two before it. "It takes great courage to"
# has been read word by word, five tokens, and now the chunk "let go of what" arrives. How
# many old keys are still needed: 0, 2, 3 or 5? Decide before you go on.

# %% [markdown]
# ## What may be thrown away
#
# The first new token, *let* at position 5, sees the positions 3, 4 and 5. Every later one
# sees less of the past. So `window` − 1 old keys are enough, here two, at any time and
# for any chunk. Whatever is older can be thrown away, and no result will ever tell.
#
# That is the difference from step 7. Under the plain causal mask every old key may be
# asked for again, so its cache grows with the text. Under a window the cache has an
# upper limit, and a model can read for days in constant memory.
#
#     positions        0   1   2   3   4 | 5   6   7   8
#     kept before                  3   4 |                   window − 1 = 2 keys
#     seen by 5                    x   x | x
#     seen by 6                        x | x   x
#     seen by 8                          |     x   x   x
#     kept after                         |         7   8
#
# ## What the two parts have to agree on
#
# A mask that is *right* hides what is outside the window, even if it is still there. A
# cache that is *small* throws it away. Both are needed. Take the small cache under the plain
# causal mask. Once the cache is full, only a chunk of one token is right. In a longer one,
# later tokens see too much: position 7 above must no longer see 3 and 4, and those are in the
# cache. With the mask alone all values are right and the cache grows with the text: no value
# tells you so. So this step measures what you keep.
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | new keys | x_new w_k | (..., T_new, d_k) | `project_qkv` |
# | keys at hand | old, then new | (..., n, d_k) | `np.concatenate(..., axis=-2)` |
# | mask | 0 ≤ i − j < window | (T_new, keys at hand) | `sliding_window_mask(t_new, window, n)` |
# | kept | the last window − 1 | (..., ≤ window − 1, d_k) | a slice, and `.copy()` |
#
# Only differences of positions enter the mask. So it does not matter that the keys at
# hand begin somewhere in the middle of the text: count from the end. The last query has the
# last key, whatever stands before them.
#
# ## By hand
#
# The example of step 7, with a window of 2: keys [2, 0, 0, 0] and [0, 4, 0, 2], values
# 10 and 20. The third token has the query [1, 1, 1, 1], the key [2, 4, 0, 2] and the
# value 30. The scores of step 7 were 1, 3 and 4. The window leaves 3 and 4:
#
#     window            scores     weights                 output
#     3 or more         1, 3, 4    0.035, 0.259, 0.705     26.70
#     2                 3, 4       0.269, 0.731            27.31
#     1                 4          1                       ?
#
# The last cell is yours. The example of `attend_with_window_cache` checks it.
#
# ## Questions before you write
#
# - The window is 5, and only 3 keys have been seen so far. Where does the slice of the last
#   window − 1 begin, if you compute its start? NumPy reads a negative start as counted from
#   the end, and reports nothing.
# - The window is 1. Which keys does `k[..., -0:, :]` keep?
# - NumPy slices are views. You keep two rows of an array of ten thousand: how much
#   memory stays alive?
# - The prompt is longer than the window. Which keys do its first tokens need, and when
#   may they be thrown away?
# - Where does the cache know its window from? `attend_with_window_cache` is not told.
#
# A **ring buffer** is the usual way in fast programs: an array of `window` rows, in
# which position p is written to row p mod window. No row is ever copied, but the order
# of the rows is no longer the order of time, so the mask must be made from their
# positions. Concatenating and cutting is simpler, and right.
#
# > **In torch** there is no such cache; libraries of models have one. A model of the Mistral
# > family in transformers has its window in `config.sliding_window`, and its cache drops
# > what lies outside.
#
# **Sources.** Beltagy et al. 2020, section 3.1 (sliding window); Jiang et al. 2023,
# section 2 (the rolling buffer, figure 2; what is thrown away when a prompt comes in
# chunks, figure 3).

# %%
import numpy as np

from exercises.step01_projections import project_qkv
from exercises.step05_output import attention
from exercises.step22_more_masks import sliding_window_mask

# %% [markdown]
# ## An empty cache
#
# As in step 7, a cache belongs to one sequence, or to one batch of sequences that grow
# together. Two caches share nothing. What it looks like is up to you, but it has to
# know its window.


# %%
def new_window_cache(window):
    """Return an empty cache that serves a sliding window of that size.

    window ≥ 1 -> any object that `attend_with_window_cache` understands

    Source: Jiang et al. 2023, section 2.
    Errors: ValueError if window < 1.

    >>> one = np.ones((1, 1))
    >>> x, cache = np.array([[2.0], [6.0]]), new_window_cache(1)
    >>> y, cache = attend_with_window_cache(x, cache, one, one, one)
    >>> y.tolist()
    [[2.0], [6.0]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## Attention with it
#
# **Try first:** feed 8 tokens as 3 + 1 + 4 with a window of 2, and compare every row
# with one call that gets all 8. Then print how many keys your cache holds after each
# call.


# %%
def attend_with_window_cache(x_new, cache, w_q, w_k, w_v):
    """Compute self-attention of the new tokens under a sliding window over all tokens so far.

    x_new (..., T_new, d_model), T_new ≥ 1: the tokens after those already read
    w_q, w_k (d_model, d_k), w_v (d_model, d_v)
    -> (y_new (..., T_new, d_v), cache)

        y_new = the last T_new rows of attention under sliding_window_mask over all tokens so far

    After a call at most 2 · window + T_new keys and as many values are kept; window − 1 are
    enough. T_new may exceed the window. Only the new tokens are projected. Use the returned
    cache for the next call, and the one passed in no more.

    Source: Jiang et al. 2023, section 2.

    The example from the text above, with windows of 3, 2 and 1:

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> w_q = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    >>> w_k = np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 2.0]])
    >>> w_v = np.array([[10.0], [20.0]])
    >>> for window in (3, 2, 1):
    ...     _, cache = attend_with_window_cache(x[:2], new_window_cache(window), w_q, w_k, w_v)
    ...     y, cache = attend_with_window_cache(x[2:], cache, w_q, w_k, w_v)
    ...     print(y.round(2).tolist())
    [[26.7]]
    [[27.31]]
    [[30.0]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## What you have now, and what comes next
#
# **Read on.** Jiang et al. 2023, section 2: 10 minutes. Figure 2 shows the ring buffer, and
# figure 3 what is thrown away when a prompt comes in chunks.
#
# **In one sentence:** under a window of w tokens the past is w − 1 keys, however long it is.
#
# You can read without an end in constant memory. Step 25 puts rotary positions and grouped
# heads into a whole decoder, with a cache for each layer.
