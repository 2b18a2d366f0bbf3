# %% [markdown]
# # Step 22 — More masks
#
# **Time** 45 minutes. **Difficulty** 2 of 5. **Needs** steps 3, 20 and 21.
#
# **After this you can**
#
# - write the masks of a sliding window, of a prefix and of packed documents,
# - say what each of them hides besides the future, or shows in spite of it,
# - pack several documents into one row so that none of them notices.
#
# *The course:* I attention · II decoder · III training · **IV attention today:** 20
# positions, 21 grouped heads, [22 more masks], 23 streaming, 24 window cache, 25 Llama
#
# ## Before you read on
#
# You train on many short documents. To waste no room you put two of them into one row
# of a batch, one behind the other, under the causal mask of step 3. "It takes great
# courage" is followed by "Add salt". The loss of *salt* looks fine. What does *Add*
# read that it should not? Decide before you go on.

# %% [markdown]
# ## A leak between documents
#
# *Add* reads all of "It takes great courage": another document, which stands earlier only
# because a data loader put it there. No position sees the future, so none of the tests
# of step 3 fail. It is a leak all the same, between documents. And the positions are
# wrong as well: *Add* begins a document, and yet gets position 4.
#
# ## Four masks side by side
#
# Five positions, 1 = may attend, the query in the row:
#
#     causal        window of 2     prefix of 3     documents 7 7 3 3 7
#     1 0 0 0 0     1 0 0 0 0       1 1 1 0 0       1 0 0 0 0
#     1 1 0 0 0     1 1 0 0 0       1 1 1 0 0       1 1 0 0 0
#     1 1 1 0 0     0 1 1 0 0       1 1 1 0 0       0 0 1 0 0
#     1 1 1 1 0     0 0 1 1 0       1 1 1 1 0       0 0 1 1 0
#     1 1 1 1 1     0 0 0 1 1       1 1 1 1 1       0 0 0 0 1
#
# - **Sliding window.** A query sees its own position and the `window` − 1 before it.
#   The work for T tokens falls from T² to T · window. Higher layers still learn of what
#   is farther away: each layer reaches `window` − 1 positions back from where the one
#   below has looked. 32 layers with a window of 4,096 reach 32 · 4,095 = 131,040 positions
#   back.
# - **Prefix.** A question is known as a whole, and only the answer is written. So the
#   first `n_prefix` keys may be seen by everybody, by earlier queries of the prefix
#   too. No prediction is made inside the prefix, so nothing is given away there. The
#   answer stays causal.
# - **Documents.** A query sees its own document, up to itself. `documents` holds a
#   number for each position, and a document is a *run* of equal numbers.
#
# The last position of the example has the number 7, as the first two have. It is a
# third document, since its run is not theirs. This does happen: numbers come again when
# the source files of a row are numbered modulo something, or when a document is split
# by another one.
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | window | 0 ≤ i − j < window, i and j positions | (T_q, T_k) | `np.arange(t_k - t_q, t_k)` |
# | prefix | j ≤ i or j < n_prefix | (T, T) | `causal_mask(t)` and a vector, with `\|` |
# | where a document begins | number ≠ the one before it | (..., T) | `x[..., 1:] != x[..., :-1]` |
# | which document | beginnings so far | (..., T) | `np.cumsum(..., axis=-1)` |
# | same document | run of i = run of j | (..., T, T) | `run[..., :, None] == run[..., None, :]` |
# | position in it | position − position of its beginning | (..., T) | `np.maximum.accumulate` |
#
# Masks that *restrict* are joined with `&`, as in step 3. The prefix *adds* permissions
# to the causal mask, so it takes `|`. Taking the wrong one of the two is a mistake that
# runs without complaint.
#
# ## By hand
#
# Documents 7 7 3 3 3 7, positions 0 to 5:
#
#     number              7  7  3  3  3  7
#     begins here         1  0  1  0  0  1
#     which document      1  1  2  2  2  3
#     its beginning       0  0  2  2  2  5
#     position in it      0  1  0  1  2  ?
#
# Fill in the last cell. The example of `document_positions` checks it.
#
# **Packed is the same as alone.** Use this mask, and make the angles of step 20 from
# `document_positions`. Then each document gets exactly what attention gives to it
# alone. Since rotary scores depend on distances only, would positions that simply count
# on do as well? For rotary angles, yes. For a learned table of positions, no: there it
# must begin at 0.
#
# > **In torch** a mask can be a rule instead of an array. `create_block_mask` takes a function
# > of batch, head, query and key position, such as
# > `lambda b, h, i, j: (j <= i) & (i - j < 4)`. `flex_attention` takes its result as
# > `block_mask`, and skips blocks in which nothing is allowed.
#
# **Sources.** Child et al. 2019 (sparse patterns); Beltagy et al. 2020, section 3.1
# (sliding window, and how far a stack of layers sees); Jiang et al. 2023, section 2 (a
# window in a large decoder); Raffel et al. 2020, section 3.2.1 (prefix; figure 3 shows
# the masks); Krell et al. 2021 (packing without contamination).

# %%
import numpy as np

from exercises.step03_mask import causal_mask

# %% [markdown]
# ## The window
#
# **Try first:** in `sliding_window_mask(5, 2)` no row has more than two True, and row 0
# has one. As always, the queries are the last `t_q` of `t_k` positions.


# %%
def sliding_window_mask(t_q, window, t_k=None):
    """Say which keys each query may attend to: the last `window` up to its own position.

    t_q, t_k: numbers of queries and keys; t_k defaults to t_q -> bool (t_q, t_k)

        mask[i, j] = True  where  0 ≤ position of query i − position of key j < window

    The queries are the last t_q of t_k positions.

    Source: Beltagy et al. 2020, section 3.1; Jiang et al. 2023, section 2.
    Errors: ValueError if window < 1, and if t_k < t_q.

    >>> sliding_window_mask(4, 2).astype(int).tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> sliding_window_mask(2, 3, 5).astype(int).tolist()
    [[0, 1, 1, 1, 0], [0, 0, 1, 1, 1]]
    """
    ### BEGIN SOLUTION
    if window < 1:
        raise ValueError(f"window must be at least 1, and is {window}")
    t_k = t_q if t_k is None else t_k
    distance = np.arange(t_k - t_q, t_k)[:, None] - np.arange(t_k)
    return causal_mask(t_q, t_k) & (distance < window)
    ### END SOLUTION


# %% [markdown]
# ## The prefix
#
# Which keys are seen by all? Those are columns of the mask, and the keys that one query
# sees are a row.
#
# **Try first:** `prefix_mask(3, 0)` is the causal mask, and `prefix_mask(3, 3)` is all True.


# %%
def prefix_mask(t, n_prefix):
    """Let every query see the first n_prefix keys; beyond them the mask is causal.

    t, n_prefix -> bool (t, t)

        mask[i, j] = True  where  j ≤ i  or  j < n_prefix

    Source: Raffel et al. 2020, section 3.2.1.
    Errors: ValueError if n_prefix is negative or above t.

    >>> prefix_mask(4, 2).astype(int).tolist()
    [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    """
    ### BEGIN SOLUTION
    if not 0 <= n_prefix <= t:
        raise ValueError(f"n_prefix must lie between 0 and {t}, and is {n_prefix}")
    return causal_mask(t) | (np.arange(t) < n_prefix)
    ### END SOLUTION


# %% [markdown]
# ## Packed documents
#
# Two positions belong to one document if no beginning lies between them. Comparing the
# numbers themselves is not enough: think of the second 7.
#
# **Try first:** documents 1 2 3, each of one token. The mask must be the identity.


# %%
def document_mask(documents):
    """Let every query see its own document, up to itself.

    documents (..., T): numbers, of which a run of equal ones is a document
    -> bool (..., T, T)

        mask[..., i, j] = True  where  j ≤ i  and  documents[..., j] to documents[..., i] are equal

    Source: Krell et al. 2021.

    >>> document_mask(np.array([7, 7, 3, 7])).astype(int).tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    """
    ### BEGIN SOLUTION
    documents = np.asarray(documents)
    begins = documents[..., 1:] != documents[..., :-1]
    # The run that each position belongs to; the first one is 0, and needs no beginning.
    run = np.zeros(documents.shape, dtype=int)
    run[..., 1:] = np.cumsum(begins, axis=-1)
    same = run[..., :, None] == run[..., None, :]
    return same & causal_mask(documents.shape[-1])
    ### END SOLUTION


# %% [markdown]
# The positions inside a document are needed for every way to say where a token stands.
# One way to get them: mark each beginning with its own position, and let the largest
# mark so far go on.
#
# **Try first:** documents 4 4 4 should give 0 1 2.


# %%
def document_positions(documents):
    """Count positions from 0 in each document.

    documents (..., T): numbers, of which a run of equal ones is a document -> (..., T)

    Source: Krell et al. 2021.

    >>> document_positions(np.array([7, 7, 3, 3, 3, 7])).tolist()
    [0, 1, 0, 1, 2, 0]
    """
    ### BEGIN SOLUTION
    documents = np.asarray(documents)
    position = np.arange(documents.shape[-1])
    beginning = np.zeros(documents.shape, dtype=int)
    begins = documents[..., 1:] != documents[..., :-1]
    beginning[..., 1:] = np.where(begins, position[1:], 0)
    return position - np.maximum.accumulate(beginning, axis=-1)
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: three masks
#
# The same seven positions under a window, a prefix, and packed documents. The letters are
# documents, and a document called a comes twice.

# %% tags=["active-ipynb"]
# look.masks(sliding_window_mask, prefix_mask, document_mask)

# %% [markdown]
# ## What you have now, and what comes next
#
# **Read on.** Raffel et al. 2020, section 3.2.1: 10 minutes. Figure 3 shows the masks.
# Beltagy et al. 2020, section 3.1: 10 minutes. Look for how far a stack of layers sees.
# Krell et al. 2021: 15 minutes. Look for what contamination between documents is.
#
# **Bonus.** `make bonus` asks for `sink_mask`: a window that never forgets the first tokens.
#
# **In one sentence:** a mask states who may see whom, and "not the future" is only one thing
# that it may have to say.
#
# The masks here are still written down in full. Step 23 computes attention without ever
# holding all scores at once.
