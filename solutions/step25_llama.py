# %% [markdown]
# # Step 25 — Llama
#
# **Time** 90 minutes. **Difficulty** 4 of 5. **Needs** steps 11 to 13, 20 and 21.
#
# **After this you can**
#
# - write the forward pass of a model of the Llama family,
# - name what it changed since GPT-2, and why,
# - generate with a cache that holds keys already turned.
#
# *The course:* I attention · II decoder · III training · **IV attention today:** 20
# positions, 21 grouped heads, 22 more masks, 23 streaming, 24 window cache, [25 Llama]
#
# ## Before you read on
#
# The key of *great* in "It takes great courage" is turned by the angle of its position and
# then stored. Ten tokens later another query meets it. Must the stored key be turned
# again: by the angle of the ten positions, back to zero first, or not at all? Decide
# before you go on.

# %% [markdown]
# ## Angles in a cache
#
# The score depends on the difference of the two angles, and the query brings its own. So
# a stored key is not turned again. A key is turned once, when it is made, by the angle of
# the position where it stands in the whole text. The new tokens of a call do not stand at
# 0, 1, 2: they stand behind what is in the cache. Forgetting this gives right results for
# the prompt and wrong ones afterwards.
#
# ## What changed since GPT-2
#
# **Llama** is a family of models that Meta has published with their weights since 2023. Many
# other models are built like it.
#
#     part                GPT-2 (steps 11 and 12)           Llama
#     positions           a learned table, added once       rotary angles, in every block
#     norm                layer norm: mean and variance     rms norm: size only
#     feed-forward        gelu(x w_in) w_out                (silu(x w_gate) · x w_up) w_down
#     heads               as many for keys as for queries   often fewer for keys, in groups
#     biases              in all but the output head        none
#     output head         the embedding, transposed         a matrix of its own, `w_out`
#     length              T_max rows of the table           no limit in the formulas
#
# What did not change is what this course is about: the causal mask, in every block. The
# stream with its two additions has not changed either. Not every model of the family has
# every part: the first one shared no heads, and some small ones keep the tied output head.
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | rms norm | x / √(mean(x²) + eps) · gain | (..., T, d_model) | `np.mean(..., keepdims=True)` |
# | silu | x / (1 + exp(−x)) | any | `np.exp` |
# | feed-forward | (silu(x w_gate) · x w_up) w_down | (..., T, d_model) | `*` between the two |
# | block | x + attention(norm_1(x)), then x + feed_forward(norm_2(x)) | (..., T, d_model) | |
# | positions of a chunk | length so far + 0, 1, … | (T_new,) | `np.arange(start, stop)` |
# | logits | norm_f(x) w_out | (..., T, V) | `linear` |
#
# ## Why these parts
#
# **RMS norm** drops the mean of layer norm. What keeps training stable is that every
# position has features of a known size, and subtracting the mean turned out to add
# little. Each row is still normed by itself: a mean taken over time would let the
# future in, as in step 11.
#
# **SwiGLU** has two maps in place of one. The first, through silu, is a gate that multiplies
# the second. For very negative numbers it is near 0 and closes a hidden unit, and for large
# positive ones it is about the number itself and opens the unit wide. The author
# offers no explanation of why this is better and attributes it to "divine benevolence".
#
# ## By hand
#
# A position with the features [3, 4]: the mean of the squares is 12.5 and its root is
# 3.536, so rms norm gives [0.849, 1.131]. Layer norm would give [−1, 1]. Now let every
# weight of the feed-forward network be a 1×1 matrix, gate 1, up 2 and down 10:
#
#     x      silu(x)    x w_up    product    result
#      1      0.731      2         1.462     14.62
#     −1     −0.269     −2         0.538        ?
#      0      0          0         0          0
#
# Both factors of the second line are negative. What is the result? The example of
# `swiglu` checks it.
#
# > **In torch** the parts are `nn.RMSNorm(d_model, eps=1e-5)`, `F.silu` and
# > `F.scaled_dot_product_attention(..., enable_gqa=True)`. The whole is `LlamaForCausalLM` in
# > transformers, whose weights `make llama` loads.
#
# **Sources.** Touvron et al. 2023, section 2.2; Zhang and Sennrich 2019, section 4; Shazeer
# 2020, section 2 (and its conclusion, for the quotation); Su et al. 2021; Ainslie et al.
# 2023.

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads
from exercises.step20_positions import rotary_angles, rotate
from exercises.step21_grouped_heads import grouped_query_attention, repeat_heads

# %% [markdown]
# ## The norm
#
# eps belongs under the root. The mean is over the features of one position.
#
# **Try first:** a row of −2 −2 with gain 1. It should become −1 −1. Layer norm would make it
# 0 0.


# %%
def rms_norm(x, gain, eps=1e-5):
    """Scale each position's features to a mean square of 1, then by gain.

    x (..., T, d_model), gain (d_model,) -> (..., T, d_model)

        y = x / √(mean(x²) + eps) · gain

    The mean is over one position's features, the last axis.

    Source: Zhang and Sennrich 2019, section 4.

    >>> rms_norm(np.array([[3.0, 4.0]]), np.ones(2)).round(3).tolist()
    [[0.849, 1.131]]
    >>> rms_norm(np.array([[3.0, 4.0]]), np.array([1.0, 10.0]), eps=12.5).round(3).tolist()
    [[0.6, 8.0]]
    """
    ### BEGIN SOLUTION
    size = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    return x / size * gain
    ### END SOLUTION


# %% [markdown]
# ## The feed-forward network
#
# **Try first:** silu(−1000). The formula x / (1 + exp(−x)) divides by infinity there,
# which gives the right 0, with a warning of NumPy's that you may silence. The other way to
# write it, x · exp(x) / (1 + exp(x)), is NaN for large x.
#
# **The common trap** is silu on the wrong one of the two maps, or on their product.


# %%
def swiglu(x, params):
    """Apply a gated feed-forward network to every position alike.

    x (..., T, d_model) -> (..., T, d_model)
    params: w_gate and w_up (d_model, d_ff), w_down (d_ff, d_model)

        y = (silu(x w_gate) · (x w_up)) w_down        silu(z) = z / (1 + exp(−z))

    The result is finite for x of up to a million in size.

    Source: Shazeer 2020, section 2.

    >>> sizes = {"w_gate": 1.0, "w_up": 2.0, "w_down": 10.0}
    >>> params = {name: np.array([[size]]) for name, size in sizes.items()}
    >>> swiglu(np.array([[1.0], [-1.0], [0.0]]), params).round(2).tolist()
    [[14.62], [5.38], [0.0]]
    """
    ### BEGIN SOLUTION
    gate = linear(x, params["w_gate"])
    with np.errstate(over="ignore"):  # exp of a large number is inf, and z / inf is the right 0
        gate = gate / (1 + np.exp(-gate))
    return linear(gate * linear(x, params["w_up"]), params["w_down"])
    ### END SOLUTION


# %% [markdown]
# ## The block
#
# Two sums, as in step 11. The block makes neither the mask nor the angles: both are the
# same in all blocks.
#
# **The common trap** is to take the second norm, or the second addition, from the block's
# input. Both belong to the stream after the attention.
#
# **Try first:** with all weights 0 the block should return x.


# %%
def llama_block(x, params, n_heads, n_kv_heads, mask, angles, eps=1e-5):
    """Apply one layer: grouped attention and a gated network, each added to the stream.

    x (..., T, d_model) -> (..., T, d_model)
    params: norm_1 and norm_2 (d_model,), attention (as in step 21), feed_forward (as for swiglu)
    mask: bool, broadcastable to (..., T, T), or None; angles (T, d_head // 2), or None

        x = x + attention(rms_norm(x, norm_1))
        x = x + swiglu(rms_norm(x, norm_2))

    Source: Touvron et al. 2023, section 2.2.

    With weights of 0 nothing is added to the stream:

    >>> zero = np.zeros((2, 2))
    >>> params = {
    ...     "norm_1": np.ones(2), "norm_2": np.ones(2),
    ...     "attention": {name: zero for name in ("w_q", "w_k", "w_v", "w_o")},
    ...     "feed_forward": {name: zero for name in ("w_gate", "w_up", "w_down")},
    ... }
    >>> llama_block(np.array([[3.0, 4.0]]), params, 1, 1, None, np.zeros((1, 1))).tolist()
    [[3.0, 4.0]]
    """
    ### BEGIN SOLUTION
    normed = rms_norm(x, params["norm_1"], eps)
    x = x + grouped_query_attention(normed, params["attention"], n_heads, n_kv_heads, mask, angles)
    return x + swiglu(rms_norm(x, params["norm_2"], eps), params["feed_forward"])
    ### END SOLUTION


# %% [markdown]
# ## The decoder
#
# How large is a head? `w_q` of any block has n_heads · d_head columns, and there is at
# least one block.
#
# **Try first:** change the last of four tokens. Only the last row of logits may move.


# %%
def llama_logits(tokens, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    """Compute the logits of a decoder of the Llama family.

    tokens (..., T), integers (int64 or int32) -> (..., T, V)
    params: embedding (V, d_model), blocks (a list, as for llama_block), norm_f (d_model,),
    w_out (d_model, V)

    Rotary angles for the positions 0 to T − 1, and the causal mask, in every block.

    Source: Touvron et al. 2023, section 2.2.

    A block that adds nothing leaves the embedding, whose features are normed at the end:

    >>> zero = np.zeros((2, 2))
    >>> block = {
    ...     "norm_1": np.ones(2), "norm_2": np.ones(2),
    ...     "attention": {name: zero for name in ("w_q", "w_k", "w_v", "w_o")},
    ...     "feed_forward": {name: zero for name in ("w_gate", "w_up", "w_down")},
    ... }
    >>> params = {
    ...     "embedding": np.array([[3.0, 4.0], [0.0, 2.0]]), "blocks": [block],
    ...     "norm_f": np.ones(2), "w_out": np.eye(2),
    ... }
    >>> llama_logits(np.array([0, 1]), params, 1, 1).round(3).tolist()
    [[0.849, 1.131], [0.0, 1.414]]
    """
    ### BEGIN SOLUTION
    t = tokens.shape[-1]
    d_head = params["blocks"][0]["attention"]["w_q"].shape[-1] // n_heads
    mask, angles = causal_mask(t), rotary_angles(np.arange(t), d_head, base)
    x = params["embedding"][tokens]
    for block in params["blocks"]:
        x = llama_block(x, block, n_heads, n_kv_heads, mask, angles, eps)
    return linear(rms_norm(x, params["norm_f"], eps), params["w_out"])
    ### END SOLUTION


# %% [markdown]
# ## The cache
#
# Each layer keeps keys and values of its own, as in step 13. Keep them before they are
# repeated: sharing them was the point of grouped heads. Keep keys after they are turned.


# %%
def new_llama_cache(n_layers):
    """Return an empty cache for a decoder of that many layers.

    n_layers -> any object that `llama_step` understands

    Source: Pope et al. 2022 (the KV cache); Ainslie et al. 2023 (what it keeps of the heads).

    >>> new_llama_cache(2) is not new_llama_cache(2)
    True
    """
    ### BEGIN SOLUTION
    return {"length": 0, "layers": [None] * n_layers}
    ### END SOLUTION


# %% [markdown]
# `grouped_query_attention` takes queries, keys and values from the same tokens, so it
# cannot be used here as it is. Write its lines once more, with the old keys in front of
# the new ones.
#
# **Common traps.** Angles that begin at 0 with every chunk: right for the prompt and wrong
# afterwards. Keys stored before they are turned, and turned later by the position of the
# query. Test in chunks of 3 + 1 + 2 and compare every row.
#
# **Try first:** a whole text with an empty cache should give what `llama_logits` gives.


# %%
def llama_step(tokens_new, cache, params, n_heads, n_kv_heads, base=10000.0, eps=1e-5):
    """Compute the logits of the new tokens, given a cache of all tokens before them.

    tokens_new (..., T_new), integers (int64 or int32), T_new ≥ 1
    -> (logits_new (..., T_new, V), cache)

        logits_new = the last T_new rows of llama_logits over all tokens so far

    Only the new tokens go through the layers. Use the returned cache for the next call, and the
    one passed in no more.

    Source: Pope et al. 2022; Touvron et al. 2023, section 2.2.

    However a text is cut, its logits are the same:

    >>> draw = np.random.default_rng(0)
    >>> square = lambda *names: {name: draw.normal(size=(4, 4)) for name in names}
    >>> block = {
    ...     "norm_1": np.ones(4), "norm_2": np.ones(4),
    ...     "attention": square("w_q", "w_k", "w_v", "w_o"),
    ...     "feed_forward": square("w_gate", "w_up", "w_down"),
    ... }
    >>> params = {
    ...     "embedding": np.eye(4), "blocks": [block], "norm_f": np.ones(4), "w_out": np.eye(4),
    ... }
    >>> tokens, cache, rows = np.array([2, 0, 3, 1]), new_llama_cache(1), []
    >>> for chunk in (tokens[:2], tokens[2:3], tokens[3:]):
    ...     logits, cache = llama_step(chunk, cache, params, 2, 2)
    ...     rows.append(logits)
    >>> bool(np.allclose(np.concatenate(rows), llama_logits(tokens, params, 2, 2)))
    True
    """
    ### BEGIN SOLUTION
    start, stop = cache["length"], cache["length"] + tokens_new.shape[-1]
    d_head = params["blocks"][0]["attention"]["w_q"].shape[-1] // n_heads
    # Positions in the whole text, and one rectangle of a mask for all layers.
    angles = rotary_angles(np.arange(start, stop), d_head, base)
    mask = causal_mask(stop - start, stop)

    x, layers = params["embedding"][tokens_new], []
    for block, kept in zip(params["blocks"], cache["layers"]):
        weights, normed = block["attention"], rms_norm(x, block["norm_1"], eps)
        q = rotate(split_heads(linear(normed, weights["w_q"]), n_heads), angles)
        k = rotate(split_heads(linear(normed, weights["w_k"]), n_kv_heads), angles)
        v = split_heads(linear(normed, weights["w_v"]), n_kv_heads)
        if kept is not None:
            k = np.concatenate([kept[0], k], axis=-2)
            v = np.concatenate([kept[1], v], axis=-2)
        layers.append((k, v))  # turned, and not yet repeated
        k, v = (repeat_heads(heads, n_heads // n_kv_heads) for heads in (k, v))
        x = x + linear(merge_heads(attention(q, k, v, mask)), weights["w_o"])
        x = x + swiglu(rms_norm(x, block["norm_2"], eps), block["feed_forward"])

    logits = linear(rms_norm(x, params["norm_f"], eps), params["w_out"])
    return logits, {"length": stop, "layers": layers}
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: a Llama that reads in pieces
#
# Two blocks, two query heads, one head of keys, through your cache. All three pictures must be the
# same triangle.

# %% tags=["active-ipynb"]
# look.llama_pieces(llama_step, new_llama_cache)

# %% [markdown]
# ## What you have now, and what comes next
#
# **Read on.** Touvron et al. 2023, section 2.2: 5 minutes, the three changes in a paragraph
# each. Zhang and Sennrich 2019, section 4: 10 minutes. Look for why the mean can go. Shazeer
# 2020, the conclusion: one minute.
#
# **In one sentence:** a model of the Llama family is the decoder of Part II with turned
# queries and keys, shared heads, a simpler norm and a gate, under the same causal mask.
#
# You have walked from a dot product to a decoder like those of today's language models. With
# `make llama` your functions run published weights, and none of them can peek.
