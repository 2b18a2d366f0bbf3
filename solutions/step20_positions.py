# %% [markdown]
# # Step 20 — Positions
#
# **Time** 60 minutes. **Difficulty** 2 of 5. **Needs** steps 2, 6 and 9.
#
# **After this you can**
#
# - tell attention where a token stands without a table of positions,
# - explain why rotated queries and keys know only the distance between them,
# - write the linear bias of ALiBi for any rectangle of queries and keys.
#
# *The course:* I attention · II decoder · III training · **IV attention today:** [20
# positions], 21 grouped heads, 22 more masks, 23 streaming, 24 window cache, 25 Llama
#
# ## Before you read on
#
# A model reads "It takes great courage". You swap the first two words: "takes It great
# courage". No position was added to the embeddings. Which outputs of a causal attention
# layer change: that of *great*, that of *courage*, both, or neither? Decide before you go
# on.

# %% [markdown]
# ## A table, and what it cannot do
#
# The softmax sums over a set of keys. The mask knows the order of past and future, but
# within the past nothing does: *great* and *courage* have the same sets before and after
# the swap, so neither output changes. The models of steps 6 and 12 add a learned row to each
# embedding, one for each position, and so they end at `T_max`. In GPT-2 that is 1,024, and
# position 1,024 has no row. This step builds two ways to say where a token stands that need
# no table.
#
# ## Turn the queries and the keys
#
# Two features (a, b) are a point in the plane. **Rotary position embedding** turns that
# point about the origin by an angle that grows with the position:
#
#     position p, angle p·f            (a, b) becomes
#                                      (a cos pf − b sin pf,  a sin pf + b cos pf)
#
# Turning changes no length. The dot product of two vectors depends on their lengths and
# on the angle between them. Turn a query by i·f and a key by j·f, and the angle between
# them changes by (i − j)·f. So the score depends on the contents and on the *distance*
# i − j. It does not depend on i or on j alone: a pattern learned at the start of a
# sequence works at its end.
#
# One pair with one speed would repeat after a full turn. A head has many pairs, and
# each has a speed of its own, as the hands of a clock have. The first pair turns by a
# full radian for each position, the last by about 1/10,000 of one. Values are not
# turned: they say what a token carries, and that is the same wherever it stands.
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | speed of pair i | f_i = base^(−2i/d_head) | (d_head/2,) | `np.arange(0, d_head, 2)` |
# | angle | position · f_i | (..., T, d_head/2) | `positions[..., None]` |
# | pair i of x | features i and i + d_head/2 | 2 × (..., T, d_head/2) | `np.split(x, 2, axis=-1)` |
# | rotation | the formula above | (..., T, d_head) | `np.concatenate(..., axis=-1)` |
# | bias of head h | −2^(−8(h+1)/n_heads) · distance | (n_heads, T_q, T_k) | `[:, None, None]` |
#
# Which features make a pair is a convention. The paper pairs neighbours, 0 with 1.
# Here, as in Llama's published weights for transformers, feature i goes with feature i
# + d_head/2. Both conventions are equally good, but weights that were trained with one
# are useless with the other.
#
# ## By hand
#
# One pair with f = 1. Query and key are both [1, 0], so the score before scaling is the
# cosine of the angle between them:
#
#     query at    key at    turned query       turned key          score
#     1           0         [0.540,  0.841]    [ 1.000,  0.000]     0.540
#     5           4         [0.284, −0.959]    [−0.654, −0.757]     0.540
#     5           3         [0.284, −0.959]    [−0.990,  0.141]     ?
#
# The last score is yours. The example of `rotate`, further down, checks it.
#
# **A question of precision.** An angle may be a million radians, and only its remainder
# modulo a full turn matters. Near a million, float32 can tell apart only numbers that
# are 0.0625 apart. What does that mean for an angle that is computed in float32? The first
# tokens would never show it.
#
# > **In torch** there is no function for rotary positions: every model's code has its
# > own, often called `apply_rotary_pos_emb`. A bias such as ALiBi's goes into
# > `F.scaled_dot_product_attention` as an `attn_mask` of floats, which is added to the
# > scores.
#
# **Sources.** Su et al. 2021, sections 3.2 to 3.4; Press et al. 2022, section 3.

# %%
import numpy as np

# %% [markdown]
# ## The angles
#
# Positions are integers, and they may come with batch axes: in step 22 every packed
# document counts from 0. Each position needs d_head/2 angles, so the result has one
# axis more.
#
# **Try first:** `rotary_angles(np.array([0, 3]), 4)` should be 0, 0 and 3, 0.03,
# because the second speed is 10000^(−2/4) = 0.01.


# %%
def rotary_angles(positions, d_head, base=10000.0):
    """Return the angle by which each pair of features turns at each position.

    positions (..., T), integers -> (..., T, d_head // 2)

        angles[..., t, i] = positions[..., t] · base^(−2i / d_head)

    Angles are right to float64 for positions of up to a million.

    Source: Su et al. 2021, section 3.2.2.
    Errors: ValueError if d_head is odd, because one feature would have no partner.

    >>> rotary_angles(np.array([0, 1, 3]), 4).tolist()
    [[0.0, 0.0], [1.0, 0.01], [3.0, 0.03]]
    >>> rotary_angles(np.array([3]), 4, base=100.0).round(6).tolist()
    [[3.0, 0.3]]
    """
    ### BEGIN SOLUTION
    if d_head % 2:
        raise ValueError(f"d_head must be even, and is {d_head}")
    speeds = base ** (-np.arange(0, d_head, 2) / d_head)
    return np.asarray(positions)[..., None] * speeds  # integers times float64: no float32 between
    ### END SOLUTION


# %% [markdown]
# ## The rotation
#
# The same angles serve every head and every sequence of a batch, so `angles` may have
# fewer axes than `x`. NumPy's broadcasting lines them up from the right.
#
# **A question before you write:** a = a·cos − b·sin, then b = a·sin + b·cos. What is
# wrong with these two lines when the second one runs?
#
# **Try first:** angles of 0. Nothing may change.


# %%
def rotate(x, angles):
    """Turn every pair of features of x by its angle.

    x (..., T, d_head), angles broadcastable to (..., T, d_head // 2) -> (..., T, d_head)

        (a, b) -> (a cos − b sin, a sin + b cos)     a = x[..., i], b = x[..., i + d_head/2]

    Source: Su et al. 2021, section 3.4.2, with the halves of a head as pairs.

    A quarter turn takes (1, 0) to (0, 1), and (0, 2) to (−2, 0). Features 0 and 2 are a pair, and
    so are 1 and 3:

    >>> x = np.array([[1.0, 0.0, 0.0, 2.0]])
    >>> rotate(x, np.full((1, 2), np.pi / 2)).round(3).tolist()
    [[0.0, -2.0, 1.0, 0.0]]

    The last row of the table in the text, cos 2, and the same distance anywhere else:

    >>> x = np.tile([1.0, 0.0], (6, 1))
    >>> turned = rotate(x, rotary_angles(np.arange(6), 2))
    >>> (turned @ turned.T).round(3)[[5, 4, 2], [3, 2, 0]].tolist()
    [-0.416, -0.416, -0.416]
    """
    ### BEGIN SOLUTION
    a, b = np.split(x, 2, axis=-1)
    cos, sin = np.cos(angles), np.sin(angles)
    # Both results from the old a and b, into a new array: x belongs to the caller.
    turned = np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
    # Angles are float64. A float32 x stays float32, or all that follows would be float64 as well.
    return turned.astype(np.result_type(x, np.float32), copy=False)
    ### END SOLUTION


# %% [markdown]
# ## ALiBi: a penalty for distance
#
# **Attention with linear biases** does not touch queries or keys. It subtracts from
# each score a number that grows with the distance between query and key. Each head has
# a slope of its own. With 4 heads the slopes are 1/4, 1/16, 1/64 and 1/256: a
# near-sighted head and a far-sighted one. There is nothing to learn, and nothing ends
# at a `T_max`. Models trained on short sequences keep working on longer ones, since far
# keys simply fade.
#
# The slopes are a geometric sequence. For numbers of heads that are not powers of two the
# authors' code has another rule, so this function refuses them.
#
# **Try first:** with 8 heads the slopes are 1/2, 1/4, and so on down to 1/256.


# %%
def alibi_slopes(n_heads):
    """Return the slope of each head's penalty.

    n_heads, a power of two -> (n_heads,)

        slopes[h] = 2^(−8 (h + 1) / n_heads)

    Source: Press et al. 2022, section 3.
    Errors: ValueError if n_heads is below 1 or not a power of two.

    >>> alibi_slopes(4).tolist()
    [0.25, 0.0625, 0.015625, 0.00390625]
    """
    ### BEGIN SOLUTION
    if n_heads < 1 or n_heads & (n_heads - 1):  # a power of two has a single bit
        raise ValueError(f"n_heads must be a power of two, and is {n_heads}")
    return 2.0 ** (-8 * np.arange(1, n_heads + 1) / n_heads)
    ### END SOLUTION


# %% [markdown]
# As in step 3, the queries are the *last* t_q of t_k positions. With 2 queries and 4
# keys the distances are those of the positions 2 and 3:
#
#                        key  0  1  2  3
#     row 0, position 2       2  1  0  1
#     row 1, position 3       3  2  1  0
#
# The distance in the upper right is to a key of the future. The bias is there too,
# because hiding the future is the mask's task: a bias of −0.25 hides nothing.
#
# **Try first:** the last column of `alibi_bias(4, 1, 3)` should be 0 in every head.


# %%
def alibi_bias(n_heads, t_q, t_k=None):
    """Return what ALiBi adds to the scaled scores of each head.

    t_q, t_k: numbers of queries and keys; t_k defaults to t_q -> (n_heads, t_q, t_k)

        bias[h, i, j] = −slopes[h] · |position of query i − position of key j|

    The queries are the last t_q of t_k positions.

    Source: Press et al. 2022, section 3.
    Errors: ValueError if t_k < t_q, and where `alibi_slopes` raises one.

    >>> alibi_bias(4, 2, 4)[0].tolist()
    [[-0.5, -0.25, 0.0, -0.25], [-0.75, -0.5, -0.25, 0.0]]
    >>> alibi_bias(2, 1).tolist() == [[[0.0]], [[0.0]]]
    True
    """
    ### BEGIN SOLUTION
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError(f"t_k must be at least t_q = {t_q}, and is {t_k}")
    query_positions = np.arange(t_k - t_q, t_k)
    distance = np.abs(query_positions[:, None] - np.arange(t_k))
    return alibi_slopes(n_heads)[:, None, None] * -distance
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: positions on a circle
#
# A head of four features has two pairs. Each is turned by the angle of its position, the first
# pair fast and the second one slowly. The numbers are positions.

# %% tags=["active-ipynb"]
# look.circle(rotary_angles, rotate)

# %% [markdown]
# ## What you have now, and what comes next
#
# **Read on.** Su et al. 2021, section 3.2: 20 minutes. Look for the line where the
# product of two rotations becomes one. Press et al. 2022, sections 3 and 4: 15 minutes. Look
# for what happens to texts longer than those of training.
#
# **The question of precision:** near a million, angles in float32 are off by up to several
# hundredths of a radian, and queries and keys are turned wrongly by as much. So compute
# angles in float64, as you do here.
#
# **In one sentence:** rotation puts the distance into the angle between query and key,
# ALiBi subtracts it from the score, and neither needs a row for each position.
#
# You can tell attention where a token stands. Step 21 uses both ways inside attention, with
# fewer heads for keys than for queries.
