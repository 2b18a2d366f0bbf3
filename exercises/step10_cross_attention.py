# %% [markdown]
# # Step 10 — Cross-attention
#
# **Time** 30 minutes. **Difficulty** 2 of 5. **Needs** step 9.
#
# **After this you can**
#
# - let one text look into another,
# - say why there is no causal mask between them,
# - shift a target for translation.
#
# *The course:* I attention · **II decoder:** 9 heads, [10 cross-attention], 11 block, 12
# decoder, 13 its cache, 14 masked words · III training · IV attention today
#
# ## Before you read on
#
# You translate "It takes great courage" into German: "Es braucht großen Mut". While you
# choose *Mut*, which English words may you read? And which German ones? Decide before you
# go on.

# %% [markdown]
# ## Looking into another text
#
# A translator has the whole source sentence before them and writes the translation word
# by word. While they choose the next word they look into the source. **Cross-attention** is
# this look. The text that is being written asks, and the text that is read answers:
# queries come from one, keys and values from the other.
#
# ## Three attentions in one model
#
# The transformer of 2017 is an encoder and a decoder, and the same formula stands in
# it in three places:
#
#                      queries from    keys, values from    who may see what
#     encoder self     source          source               everything
#     decoder self     target          target               0..t: causal
#     cross            target          source (memory)      everything
#
# (and padding is hidden from all of them). The encoder reads the source, and its last
# layer leaves one vector for each source token. These are the **memory**. It is computed
# once, and every layer of the decoder looks into it. A GPT has only the second line:
# there is no source, so there is nothing to cross over to.
#
# ## Why there is no causal mask here
#
# A mask forbids what will not be there at inference. When target token t is written,
# targets t, t + 1, ... do not exist yet, so the decoder's own attention must not see
# them. (Its position t reads target t - 1, as `shift_right` below makes it.) The source
# exists in full before the first word is written. Hiding its end would hide nothing that
# must be guessed, and would take from the first word what it needs: in a translation from
# German into English, the verb may stand last and be wanted second.
#
# And "before" has no meaning between the two. Place 3 of the source and position 3 of
# the target have nothing in common but a number. The two lengths differ as well, S for
# the memory and T for x, so a triangle does not even fit. It fits by accident when
# S = T, which is the size to be suspicious of.
#
# No future comes in this way. Each row of x asks for itself, and the answer at t is
# made of row t of x and of the memory. So if row t knows nothing of later tokens,
# neither does the answer.
#
# **Shapes.** The queries decide how many rows come out, the memory how many columns the
# weights have:
#
#     x (..., T, d_model)            q (..., n_heads, T, d_head)
#     memory (..., S, d_model)       k, v (..., n_heads, S, d_head)
#     weights (..., n_heads, T, S)   result (..., T, d_model)
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | queries | x W_q + b_q | (..., T, d_model) | from `x` |
# | keys, values | memory W_k + b_k, ... | (..., S, d_model) | from `memory` |
# | weights | softmax over S | (..., n_heads, T, S) | no causal mask |
#
# ## By hand
#
# One head, after the projections. Two positions of x ask a memory of four places, the
# third of which is padding:
#
#     q = [[1, 1, 0, 0],    k = [[2, 0, 0, 0],    v = [[10],    real = [True,
#          [0, 0, 1, 1]]         [0, 4, 0, 2],         [20],            True,
#                                [9, 9, 9, 9],         [30],            False,
#                                [2, 4, 0, 2]]         [40]]            True]
#
#     scores / √4 = [[1, 2, -∞, 3],      weights = [[0.090, 0.245, 0, 0.665],
#                    [0, 1, -∞, 1]]                 [0.155, 0.422, 0, 0.422]]
#
#     out = [[32.40], [ ? ]]
#
# The last one is yours. Question 10f checks it: `make quiz STEP=10f`. Row 0 sees the
# last place of the memory, and leans on it most. Padding is hidden, although its key
# would have had the highest score of all. The mask is one row, since it says of a place
# what holds for every query: (1, S), or (B, 1, S) in a batch, which is what
# `padding_mask` returns for the source.
#
# **Common traps.** Keys from the memory and values from x, which runs when S = T.
# Taking the padding of the target for that of the source. The causal mask, by habit.
#
# **Sources.** Vaswani et al. 2017, section 3.2.3 (the three uses of attention);
# Bahdanau et al. 2015 (a decoder that looks back at the source, from which it all
# began).

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads

# %% [markdown]
# ## What the decoder reads while it learns
#
# In step 6 the first token was given and had no prediction. A translation has a source
# to start from, so its first word is to be predicted too. Something must stand at
# position 0 to predict it from: a start token, which stands for "nothing yet". Then
# come the true tokens, one place later than they are wanted (teacher forcing). The
# target 5 8 2 with start token 1, where 2 ends a sentence:
#
#     position              0   1   2
#     the decoder reads     1   5   8      shift_right(target, 1)
#     it is to predict      5   8   2      the target itself
#
# The last token is not read: after it there is nothing to predict. It is a target all
# the same. Here the input and the target have the same length T, whereas `shift_tokens`
# of step 6 made T - 1 pairs.
#
# In writing there are no true tokens yet. The decoder starts from the start token
# alone; what it chooses is read at the next place. So the places are those of the
# table above, with its own words in the middle row in place of the true ones.
#
# Without the shift, position t reads the very token that it is to predict. The causal
# mask does not help, because it allows a position to see itself. The loss falls to 0, and
# the model has learned to copy.
#
# In a batch of translations the targets are padded behind their ends, and the loss
# ignores those places (`ignore_id` of step 6). The sources are padded too, and that is
# what `memory_mask` is for. These are two paddings of two texts, with two lengths.
#
# **Try first:** `shift_right(np.array([5, 8, 2]), 1)` should be 1 5 8.


# %%
def shift_right(tokens, start_id):
    """Return the inputs for teacher forcing: the start token, then all but the last token.

    tokens (..., T), integers (int64 or int32); start_id: an id
    -> (..., T)

        shifted[..., 0] = start_id,   shifted[..., t] = tokens[..., t-1]

    Every text gets the start token, also one that begins with it already.

    Source: Vaswani et al. 2017, section 3.1 (outputs shifted right); Sutskever et al. 2014.

    >>> shift_right(np.array([[5, 8, 2], [7, 2, 0]]), 1).tolist()
    [[1, 5, 8], [1, 7, 2]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# The weights are named as in step 9, but they are other weights: a decoder layer has
# one set for its self-attention and one for its cross-attention.
#
# The mask again has to get a head axis, where it has batch axes: a batch of (B, T, S)
# would meet heads of (B, n_heads, T, S) with its texts lying on the heads.
#
# **Try first:** a memory of one place. All rows of the result must be alike: there is
# nothing to choose.


# %%
def cross_attention(x, memory, params, n_heads, memory_mask=None):
    """Compute attention of x to a memory, in every head: x asks, the memory answers.

    x (..., T, d_model), memory (..., S, d_model), T and S as they come -> (..., T, d_model)
    params: a dict of w_q, w_k, w_v, w_o (d_model, d_model) and b_q, b_k, b_v, b_o (d_model,)
    memory_mask: bool, True = may attend, broadcastable to (..., T, S). It has no head axis and
    holds for every head; None allows everything. There is no causal mask.

        merge(softmax(Q_h K_hᵀ/√d_head + M) V_h of every head h) W_o + b_o,
        Q = x W_q + b_q,  K = memory W_k + b_k,  V = memory W_v + b_v,  each split into heads

    A query that may attend to nothing gets 0 from every head, so its row is b_o.

    Source: Vaswani et al. 2017, section 3.2.3.

    Keys that are 0 make an output the plain average of what is real in the memory:

    >>> eye, none = np.eye(2), np.zeros(2)
    >>> params = {"w_q": eye, "w_k": 0 * eye, "w_v": eye, "w_o": eye}
    >>> params |= {"b_q": none, "b_k": none, "b_v": none, "b_o": none}
    >>> x, memory = np.ones((1, 2)), np.array([[1.0, 10.0], [3.0, 20.0], [8.0, 60.0]])
    >>> cross_attention(x, memory, params, 2).tolist()
    [[4.0, 30.0]]
    >>> cross_attention(x, memory, params, 2, np.array([[True, False, True]])).tolist()
    [[4.5, 35.0]]
    """
    # Write your code here.
    raise NotImplementedError()


# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** `nn.MultiheadAttention` takes query, key and value as three arguments:
# > `attention(x, memory, memory)` is cross-attention. `memory_key_padding_mask` of
# > `nn.TransformerDecoderLayer` has True at padding.
#
# **Read on.** Bahdanau et al. 2015, section 3.1: 15 minutes. It is the first look of this
# kind. Look for the alignment.
#
# **In one sentence:** in cross-attention the text that is written asks, the text that is
# read answers, and only padding is hidden.
#
# You have all three attentions of the transformer. The order of the memory does not
# matter to any of this: shuffle its places, the mask along with them, and the result
# is the same. Where a word stands it knows from its position vector alone.
#
# While a translation is written the memory does not change, so its keys and values are
# computed once and kept. They do not grow as the cache of step 7 does.
#
# The rest of this course builds a decoder without a source, as in GPT-2. Step 11 makes
# a block of it: attention, a feed-forward network, and what holds them together.
