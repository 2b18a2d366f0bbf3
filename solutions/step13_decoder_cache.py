# %% [markdown]
# # Step 13 — The decoder's cache
#
# **Time** 45 minutes. **Difficulty** 4 of 5. **Needs** steps 7 and 12.
#
# **After this you can**
#
# - keep a cache for every layer,
# - feed new tokens at their own positions,
# - check a cached decoder against a whole pass.
#
# *The course:* I attention · **II decoder:** 9 heads, 10 cross-attention, 11 block, 12
# decoder, [13 its cache], 14 masked words · III training · IV attention today
#
# ## Before you read on
#
# A decoder of 24 layers and d_model 1024 writes "It takes great" and appends *courage*.
# How many numbers must it keep of each word? Which row of the position table is added to
# *courage*? Decide before you go on.

# %% [markdown]
# ## One cache for every layer
#
# Step 7 kept the keys and values of one layer. A decoder has many. Here each of them
# gets a cache, and then the whole decoder writes text.
#
# What does the decoder compute for the old tokens once more, if it is run on the whole
# text for every new one? Everything, in every layer. What of this does the new token
# need? Only attention looks at other positions, and it looks at keys and values. So
# these two are kept, for every layer, and nothing else is.
#
#     for each layer l:
#         h = ln_1(x)                       x: the new tokens only
#         q, k, v = projections of h        with the weights of layer l
#         K_l = [old keys of layer l, k]    V_l = [old values of layer l, v]
#         x = x + attention(q, K_l, V_l)    under the mask
#         x = x + feed_forward(ln_2(x))     position by position: needs no past
#
# Layer 0 makes its keys from embeddings, layer 1 makes them from what layer 0 has
# written, with other weights. They are different vectors. So each layer needs a memory
# of its own. What all layers share is the count of the tokens so far.
#
# ## Why the mask in every layer makes this valid
#
# A kept key must be the key that a run over the longer text would give. In layer 0 it
# is: the key of token j is made from token j alone. In layer 1 it is made from the
# output of layer 0 at position j. With the mask, that output has read tokens 0..j, and
# none of them changes when token t is appended. So neither does the key in layer 1, nor
# anything above it.
#
# Now take the mask out of one layer, say layer 0 (* = changes when token 3 comes):
#
#                     masked in every layer      no mask in layer 0
#     position        0   1   2   3              0   1   2   3
#     layer 1         .   .   .   *              *   *   *   *
#     layer 0         .   .   .   *              *   *   *   *
#     token           .   .   .   *              .   .   .   *
#
# On the right every old output of layer 0 has read the new token, so the old keys and
# values of layer 1 are out of date the moment it arrives. One layer without a mask not only
# lets the future in: it takes the cache away from all layers above it.

# %% [markdown]
# ## Positions
#
# A new token comes alone, but it is not alone. Three places must know how many tokens
# came before, let us say t_old of them:
#
#     the position table     rows t_old .. t_old + T_new - 1
#     the mask               T_new queries at the end of t_old + T_new keys
#     the limit              t_old + T_new ≤ T_max
#
# **Common traps.** Positions that start at 0 in every call. A count that grows while
# the layers are being run, so that layer 1 counts the new tokens twice. A count that
# grows by one per call: right token by token, wrong after a prompt. `[{}] * n_layers`,
# a list that holds one dict n_layers times: every layer writes into the same. And a
# limit that looks at the new tokens only. A slice beyond the end of the position table
# raises nothing in NumPy.
#
# Test with two layers and with three, in chunks of 3 + 3 + 2, and compare every row.
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | positions | t_old .. t_old + T_new - 1 | (T_new, d_model) | a slice of the table |
# | keys of layer l | [old, new] | (..., n_heads, T_k, d_head) | `np.concatenate(axis=-2)` |
# | mask | the last T_new of T_k | (T_new, T_k) | step 3 |
#
# ## By hand
#
# Two tokens, two features, two layers, one head. Queries and keys are zero, so every
# token looks at all before it alike. Values are the normed inputs, the feed-forward
# networks add nothing, positions are zero. So a layer adds to x the mean of the values
# so far. A norm of two numbers keeps only which one is larger (up to eps):
#
#     ln(a, b) = (1, -1) if a > b,   (-1, 1) if a < b,   (0, 0) if a = b
#
# The text 0, 0, 0, 1 has been read, and the token 1 arrives once more. First layer 0:
#
#     position           0, 1, 2     3               4 (new)
#     x = embedding      (1, 0)      (0, 1)          (0, 1)
#     layer 0, value     (1, -1)     (-1, 1)         (-1, 1)
#              mean      (1, -1)     (1/2, -1/2)     (1/5, -1/5)
#     x                  (2, -1)     (1/2, 1/2)      (1/5, 4/5)
#
# Layer 1 does the same with the last line:
#
#     position           0, 1, 2     3               4 (new)
#     layer 1, value     (1, -1)     (0, 0)          (-1, 1)
#              mean      (1, -1)     (3/4, -3/4)     (2/5, -2/5)
#     x                  (3, -2)     (5/4, -1/4)      ?
#     logits: ln_f(x)    (1, -1)     (1, -1)         (1, -1)
#
# The missing pair is yours. Question 13f checks it: `make quiz STEP=13f`. In the cache
# before the last column was computed: the values (1, -1), (1, -1), (1, -1), (-1, 1) for
# layer 0, and (1, -1), (1, -1), (1, -1), (0, 0) for layer 1. Had layer 1 read layer 0's,
# its mean would be (1/5, -1/5), the logits (-1, 1), and the next token 1 instead of 0.

# %%
import numpy as np

from exercises.step01_projections import linear
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention
from exercises.step08_generation import sample_token
from exercises.step09_heads import merge_heads, split_heads
from exercises.step11_block import feed_forward, layer_norm

# %% [markdown]
# The decoder of the example by hand. Give it weights of your own and
# compare with `decoder_logits`: with such simple ones many mistakes do not show.

# %%
eye, zero, no_bias = np.eye(2), np.zeros((2, 2)), np.zeros(2)
plain_norm = {"gain": np.ones(2), "bias": no_bias}
mean_of_the_past = {
    "ln_1": plain_norm,
    "ln_2": plain_norm,
    "attention": {
        **{"w_q": zero, "w_k": zero, "w_v": eye, "w_o": eye},
        **{"b_q": no_bias, "b_k": no_bias, "b_v": no_bias, "b_o": no_bias},
    },
    "feed_forward": {"w_in": zero, "b_in": no_bias, "w_out": zero, "b_out": no_bias},
}
by_hand = {
    "embedding": eye,
    "position": np.zeros((8, 2)),
    "blocks": [mean_of_the_past, mean_of_the_past],
    "ln_f": plain_norm,
}

# %% [markdown]
# As in step 7 a cache belongs to one text, or to one batch of texts that grow together,
# and two caches share nothing. What it looks like is up to you: only the functions of
# this step open it. It is made before any token is seen, so it cannot know how many
# texts there are, nor how many heads. It knows how many layers there are.
#
# **Try first:** two calls, and a change to what the first returned. The second must not hear
# of it.


# %%
def new_decoder_cache(n_layers):
    """Return an empty cache for all layers of a decoder and one batch of texts.

    n_layers: how many blocks the decoder has
    -> any object that `decoder_step` understands

    Source: Pope et al. 2022 (the KV cache).

    Two caches share nothing. Here the second one does not hear of the first:

    >>> first, second = new_decoder_cache(2), new_decoder_cache(2)
    >>> logits, first = decoder_step(np.array([0, 0, 0]), first, by_hand, 1)
    >>> logits, second = decoder_step(np.array([1]), second, by_hand, 1)
    >>> logits.round(1).tolist()
    [[-1.0, 1.0]]
    """
    ### BEGIN SOLUTION
    # One place per layer, empty: not n_layers times the same dict or list.
    return {"length": 0, "layers": [None] * n_layers}
    ### END SOLUTION


# %% [markdown]
# A step is a forward pass of step 12 for the new tokens only. It is the block of step
# 11, opened in the middle: between the projections and the attention stands the cache.
# So `decoder_block` cannot be called as it is, but the pieces that it is made of can.
#
# Find out first how many tokens came before, use that number for positions, mask and
# limit, and let it change once, when all layers have been run. Keys are kept as they
# go into attention. Whether you keep them before or after the heads are split does not
# matter, as long as new and old ones are treated alike.
#
# **Try first:** `decoder_step` of a whole text with an empty cache should give what
# `decoder_logits` gives.


# %%
def decoder_step(tokens_new, cache, params, n_heads):
    """Compute the logits of the new tokens, with the old keys and values from the cache.

    tokens_new (..., T_new), T_new ≥ 1: the tokens after those already in the cache
    params: as in `decoder_logits`
    -> (logits_new (..., T_new, V), cache)

        logits_new = the last T_new rows of decoder_logits over all tokens so far

    Only the new tokens go through the layers; what belongs to old ones comes from the cache.
    Use the returned cache for the next call, and the one passed in no more. The batch axes
    are the same in every call, and so are the parameters.

    Source: Shazeer 2019, section 2.4; Pope et al. 2022.
    Errors: ValueError if the tokens in the cache and the new ones are more than T_max.

    The example by hand:

    >>> cache = new_decoder_cache(2)
    >>> logits, cache = decoder_step(np.array([0, 0, 0, 1]), cache, by_hand, 1)
    >>> logits.round(1).tolist()
    [[1.0, -1.0], [1.0, -1.0], [1.0, -1.0], [1.0, -1.0]]
    >>> logits, cache = decoder_step(np.array([1]), cache, by_hand, 1)
    >>> logits.round(1).tolist()
    [[1.0, -1.0]]
    """
    ### BEGIN SOLUTION
    t_old, t_max = cache["length"], len(params["position"])
    t = t_old + tokens_new.shape[-1]
    if t > t_max:
        raise ValueError(f"tokens_new makes {t} tokens in all, more than T_max, which is {t_max}")

    mask = causal_mask(t - t_old, t)  # the same in every layer
    x = params["embedding"][tokens_new] + params["position"][t_old:t]
    layers = []
    for block, kept in zip(params["blocks"], cache["layers"]):
        weights, normed = block["attention"], layer_norm(x, **block["ln_1"])
        q, k, v = (
            split_heads(linear(normed, weights[f"w_{name}"], weights[f"b_{name}"]), n_heads)
            for name in "qkv"
        )
        if kept is not None:
            k = np.concatenate([kept[0], k], axis=-2)
            v = np.concatenate([kept[1], v], axis=-2)
        layers.append((k, v))
        heads = merge_heads(attention(q, k, v, mask))
        x = x + linear(heads, weights["w_o"], weights["b_o"])
        x = x + feed_forward(layer_norm(x, **block["ln_2"]), block["feed_forward"])

    logits = linear(layer_norm(x, **params["ln_f"]), params["embedding"].T)
    # A new dict, not the old one changed: one prefix can then be continued in two ways.
    return logits, {"length": t, "layers": layers}
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: a text in pieces, through two blocks
#
# Which rows of logits move with which words, in a decoder of two blocks. All three pictures must be
# the same triangle.

# %% tags=["active-ipynb"]
# look.decoder_pieces(decoder_step, new_decoder_cache)

# %% [markdown]
# ## The loop
#
# It is that of step 8, with another model: feed the prompt, choose a token from its
# last row of logits, feed that token alone, and so on. The last token chosen need not
# be fed. Positions are no longer its business, for `decoder_step` counts.
#
# Each token goes through every layer once. A loop that runs the whole text through
# `decoder_logits` for every token writes the same text, but is not what is asked for here.
#
# **Try first:** `n_new = 0` should give the prompt back, and `n_new = 1` at temperature 0
# the largest entry of the last row of `decoder_logits`.


# %%
def decoder_generate(prompt, n_new, params, n_heads, temperature=0.0, top_k=None, u=None):
    """Continue the prompt by n_new tokens with the decoder, through the cache.

    prompt (..., T), integers (int64 or int32), T ≥ 1
    -> (..., T + n_new), which starts with the prompt
    params: as in `decoder_logits`; temperature, top_k: as in `sample_token`
    u (..., n_new): uniform numbers, one per new token; not looked at if temperature is 0

        token_(T+i) is chosen from the logits after token_0 .. token_(T+i-1), with u_i

    n_new = 0 gives the prompt back. T + n_new = T_max is still allowed.

    Source: Radford et al. 2019, section 2 (the model); Shazeer 2019 (incremental decoding).
    Errors: ValueError if T + n_new > T_max, and if temperature > 0 and u is None; before
    anything is computed. ValueError for a temperature or top_k that `sample_token` refuses.

    The example by hand:

    >>> decoder_generate(np.array([0, 0, 0, 1, 1]), 2, by_hand, 1).tolist()
    [0, 0, 0, 1, 1, 0, 0]
    >>> u = np.array([0.95, 0.5])
    >>> decoder_generate(np.array([0]), 2, by_hand, 1, temperature=1.0, u=u).tolist()
    [0, 1, 1]
    """
    ### BEGIN SOLUTION
    t, t_max = prompt.shape[-1], len(params["position"])
    if t + n_new > t_max:
        raise ValueError(f"prompt and n_new make {t + n_new} tokens, the model has {t_max}")
    if temperature > 0 and u is None:
        raise ValueError("u is needed to sample at a temperature above 0")

    # int, not the type of the prompt: a small one may not hold every id of the vocabulary.
    tokens = np.zeros((*prompt.shape[:-1], t + n_new), dtype=int)
    tokens[..., :t] = prompt
    cache, fed = new_decoder_cache(len(params["blocks"])), 0
    for end in range(t, t + n_new):  # the text is known up to `end` and fed up to `fed`
        logits, cache = decoder_step(tokens[..., fed:end], cache, params, n_heads)
        fed = end
        u_now = u[..., end - t] if temperature > 0 else None
        tokens[..., end] = sample_token(logits[..., -1, :], u_now, temperature, top_k)
    return tokens
    ### END SOLUTION


# %% [markdown]
# ## What it saves, in numbers
#
# GPT-2 small: 12 layers, d_model 768, d_ff 3072, a vocabulary of 50257, T_max 1024.
# Multiply-adds for one token that sees t tokens, itself included:
#
#     projections and feed-forward    12 · 12 · 768²       =  84.9 million
#     scores, and mixing the values   12 · 2 · 768 · t     =  18.9 million at t = 1024
#     the output head                 768 · 50257          =  38.6 million
#
# With the cache this is done once per new token: 142 million for the last of 1024.
# Without it, running `decoder_logits` on the whole text does it for every row: 146
# billion, 1024 times as much. For all 1024 tokens together it is 136 billion against 71
# trillion, 525 times as much.
#
# So in t the cost of one token is O(t) with the cache and O(t²) without. Only the
# second of the three lines grows with t, and here it is the smallest: it overtakes the
# other two together at 6700 tokens. Far below that, a token costs about the same wherever
# it stands.
#
# The memory: 2 vectors (a key, a value) of 768 numbers in each of 12 layers, 4 bytes each
# in float32. That is 73,728 bytes for each token, and 72 MiB for a text of 1024. Seven
# such texts at once take more room than all of the model's 124 million parameters. For
# GPT-2 XL (48 layers, d_model 1600) it is 600 MiB for one text. The decoder of the
# beginning keeps 24 · 2 · 1024 = 49,152 numbers of each word.
#
# **Sources.** Radford et al. 2019 (the sizes of GPT-2); Shazeer 2019 (incremental
# decoding, and why loading keys and values is its bottleneck); Pope et al. 2022 (what
# the KV cache of a large model costs).

# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** the cache of a model of the transformers library holds a pair of key
# > and value tensors for each layer, of shape (B, n_heads, T, d_head). That is what you
# > have built.
#
# **Read on.** Pope et al. 2022, section 3.3: 10 minutes. Look for the memory that a long
# context takes.
#
# **Bonus.** `make bonus` asks for `cache_with_room`, which writes into arrays made
# beforehand and copies nothing.
#
# **In one sentence:** each layer keeps its own keys and values, and a new token passes
# through all layers once.
#
# A decoder that reads a text in pieces of any size, computes no key and no value twice
# in any layer, and writes. This is the loop at the centre of every program that serves
# a language model. What such programs add is room: a cache that is not copied for each
# token, many texts of different lengths at once, and fewer heads for keys and values
# than for queries, so that there is less to keep.
#
# All of it rests on one thing: the past does not look at the future. Step 14 turns to
# the other meaning of "mask": words that are hidden from a model which may look both
# ways. It learns from both sides of a gap, and it has no cache.
