# %% [markdown]
# # Step 8 — Generation
#
# **Time** 60 minutes. **Difficulty** 3 of 5. **Needs** steps 4, 6 and 7.
#
# **After this you can**
#
# - draw a token from a distribution with a given random number,
# - say what temperature and top-k change,
# - write a text through the cache.
#
# *The course:* **I attention:** 1 queries, keys and values, 2 scores, 3 mask, 4 softmax,
# 5 output, 6 loss, 7 KV cache, [8 generation] · II decoder · III training · IV attention
# today
#
# ## Before you read on
#
# After "It takes great" a model gives *courage* 1/2, *effort* 1/4, *skill* 1/8 and
# *purple* 1/8. You draw one word with a random number between 0 and 1. The number is 0.6:
# which word is it, if the pieces are laid end to end? And how would you make sure that
# *purple* never comes?

# %% [markdown]
# ## The choice
#
# The model gives logits for the next token. Generation chooses a token, appends it, and
# asks again. The model is run autoregressively: its own output becomes its next input.
# Two things are to be built: the choice, and the loop.
#
# **The choice.** Turn the logits into probabilities and draw from them. The drawing
# uses the inverse of the cumulative distribution (CDF). Lay the probabilities end to
# end on the line from 0 to 1, in the order of the vocabulary. A uniform number u,
# 0 ≤ u < 1, falls into one of the pieces, and into piece i with probability p_i:
#
#     id = smallest i with p_0 + .. + p_i > u
#
# The numbers u are an argument. The function draws nothing by itself, so the same call
# gives the same result, whatever ran before.
#
# **Temperature** τ divides the scores before the softmax:
#
#     p = softmax(logits / τ),   so that p_i is proportional to exp(logit_i)^(1/τ)
#
# Below 1 it sharpens the distribution, above 1 it flattens it. Toward 0 only the
# largest logit is left, and τ = 0 means greedy choice: the largest logit, the lowest id
# on a tie, no chance involved. Temperature is a change of scores, not of probabilities.
# Dividing probabilities by τ and normalising again changes nothing at all.
#
# **Top-k** keeps the k largest logits and forbids the rest. It is the trick of step 3
# once more: a forbidden token gets the score -∞ before the softmax, and the kept ones
# share all of the probability. A score of 0 would forbid nothing, since e^0 = 1. Two
# tools help. `np.argsort(-a, kind="stable")` lists the places of a row from its largest
# entry to its smallest, the lower place first on a tie. `np.put_along_axis(a, places, 0,
# axis=-1)` writes 0 into the entries that `places` names, row by row.
#
# **Shapes.** One choice needs one number u; a continuation needs one for each new
# token:
#
#     logits (..., V),  u (...)           ->  ids (...)
#     prompt (..., T),  u (..., n_new)    ->  prompt and continuation (..., T + n_new)

# %% [markdown]
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | probabilities | softmax(logits / τ) | (..., V) | step 4 |
# | running sum | p_0 + .. + p_i | (..., V) | `np.cumsum` |
# | id | first i whose running sum exceeds u | (...) | `argmax` of a comparison |
# | top-k | -∞ for the rest | (..., V) | `np.argsort(kind="stable")` |
#
# ## By hand
#
# Four tokens with the logits ln 4, ln 2, 0 and 0.
#
#                            id 0     id 1     id 2     id 3
#     exp(logit)             4        2        1        1
#     p at τ = 1             1/2      1/4      1/8      1/8
#     their running sum      0.5      0.75     0.875    1
#     p at τ = 1/2           16/22    4/22     1/22     1/22
#     p at τ = 2             0.369    0.261    0.185    0.185
#     p at τ = 1, top-k 2    2/3      1/3      0        0
#     p at τ = 1, top-k 3     ?       2/7      1/7      0
#
# With u = 0.6 the choice at τ = 1 is id 1: 0.5 does not exceed 0.6, and 0.75 does. At
# τ = 1/2 it is id 0, since 16/22 = 0.727. With top-k 2 it is id 0 again, since 2/3
# exceeds 0.6. With top-k 3, ids 2 and 3 tie for the last place, and the lower id is
# kept. The missing probability is yours. Question 8f checks it: `make quiz STEP=8f`.
#
# **The common trap** of the inverse CDF is rounding. Ten probabilities of 0.1, added
# one after the other, make 0.9999999999999999 in float64, and u may be exactly that
# number. No cumulative sum exceeds it then. The answer is the last id that was kept,
# never an id beyond the vocabulary and never a forbidden one. With twelve ids, of which
# top-k has kept the first ten:
#
#                    id 0    ..  id 8    id 9                  id 10     id 11
#     p              0.1     ..  0.1     0.1                   0         0
#     running sum    0.1     ..  0.9     0.9999999999999999    the same  the same
#     above u?       no      ..  no      no                    no        no
#     chosen                             this, the last kept
#
# **Sources.** Fan et al. 2018 (top-k sampling); Holtzman et al. 2020 (temperature and
# top-k, what they do to the text, and why the most probable text is a poor one). That
# paper proposes **top-p**, or nucleus, sampling: it keeps the fewest tokens whose
# probabilities add up to at least p, so the number of kept tokens follows the model's
# certainty.

# %%
import numpy as np

from exercises.step04_softmax import softmax
from exercises.step07_kv_cache import attend_with_cache, new_cache

# %% [markdown]
# **Try first:** `sample_token(np.array([-np.inf, 0.0, 0.0]), 0.0)` should be 1: u = 0 gives the
# first id that has any probability.


# %%
def sample_token(logits, u, temperature=1.0, top_k=None):
    """Choose one token per row of logits by inverse-CDF sampling with the given u.

    logits (..., V), u (...) uniform numbers in [0, 1) -> ids (...)

        p = softmax(logits/τ) over the top_k largest logits only; τ is the temperature
        id = smallest i with p_0 + .. + p_i > u

    - temperature 0 takes the largest logit, the lowest id on a tie; u is not looked at and
      may be None.
    - top_k keeps the k largest logits, the lowest ids on a tie; all of them if k > V or if
      top_k is None.
    - If rounding leaves the sum of all p at or below u, the result is the last kept id.

    Source: Fan et al. 2018 (top-k); Holtzman et al. 2020 (sampling with a temperature).
    Errors: ValueError if temperature < 0 or top_k < 1, at every temperature.

    >>> logits = np.log(np.array([4.0, 2.0, 1.0, 1.0]))
    >>> int(sample_token(logits, np.float64(0.6)))
    1
    >>> int(sample_token(logits, np.float64(0.6), temperature=0.5))
    0
    >>> int(sample_token(logits, np.float64(0.6), top_k=2))
    0
    >>> int(sample_token(logits, None, temperature=0))
    0

    One id per row, and a cumulative sum that only equals u does not exceed it:

    >>> sample_token(np.zeros((3, 4)), np.array([0.0, 0.25, 0.9])).tolist()
    [0, 1, 3]
    """
    ### BEGIN SOLUTION
    if temperature < 0:
        raise ValueError(f"temperature must not be negative, got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {top_k}")
    if temperature == 0:
        return np.argmax(logits, axis=-1)

    # float64, whatever came in: over a large vocabulary a float32 sum misses 1 by too much.
    logits = np.asarray(logits, dtype=np.float64)
    keep = np.full(logits.shape, True)
    if top_k is not None:
        # Ranks by a stable sort, not a threshold: with ties a threshold keeps more than k.
        order = np.argsort(-logits, axis=-1, kind="stable")
        np.put_along_axis(keep, order[..., top_k:], False, axis=-1)

    probs = softmax(np.where(keep, logits / temperature, -np.inf))
    # The number of ids that u passes is the smallest id that it does not pass.
    passed = np.cumsum(probs, axis=-1) <= np.asarray(u)[..., np.newaxis]
    # If rounding lets u pass them all, stop at the last one kept.
    last_kept = logits.shape[-1] - 1 - np.argmax(keep[..., ::-1], axis=-1)
    return np.minimum(passed.sum(axis=-1), last_kept)
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: what temperature does
#
# "It takes great courage to …": 2000 numbers u, evenly spread, drawn by your function at several
# temperatures. See when "purple" comes, and what top-k gives to the three that it keeps.

# %% tags=["active-ipynb"]
# look.temperatures(sample_token)

# %% [markdown]
# ## The loop
#
# Generation feeds the model its own outputs. This is where training and inference part:
# in step 6 the input at every position was the true text, here it is whatever was
# chosen before. A bad choice becomes context for all later ones. Nor can the positions
# run in parallel, since a token cannot be read before it has been chosen.
#
# The model is the one of step 6 with the same `params`, but it goes through the cache
# of step 7:
#
# 1. Feed the prompt in one piece. Its last row of logits is the prediction for the
#    first new token; the other rows predict tokens that are already there.
# 2. Choose a token. Feed that token alone, at its own position, and read its logits.
# 3. Repeat. The last token chosen is not fed: nobody asks what follows it. (`generate` still
#    wants a position for it, so that the text can be continued.)
#
# **Common traps.** The new token is at position T, T + 1 and so on, not at position 0,
# although it comes alone. With the cache, feed only what is new: the whole text once
# more would put every key in twice. In a batch all prompts have the same length here.
# Shorter ones would be padded on the left, and a padding mask would hide the padding: then
# every last row is a real token. Positions would best be counted from the first real one.
#
# **How does a text end?** The vocabulary has a token for it, which ends every text of the
# training. A loop stops when the model chooses that token. Here it stops after `n_new`.
#
# **Try first:** `generate(np.array([0, 2]), 0, params)` should be the prompt. With `n_new = 1`
# at temperature 0, the largest entry of the last row of `next_token_logits` comes on top.


# %%
def generate(prompt, n_new, params, temperature=0.0, top_k=None, u=None):
    """Continue the prompt by n_new tokens with the model of step 6, through the cache.

    prompt (..., T), integers (int64 or int32), T ≥ 1
    -> (..., T + n_new), which starts with the prompt
    params: as in `next_token_logits`; temperature, top_k: as in `sample_token`
    u (..., n_new): uniform numbers, one per new token; not looked at if temperature is 0

        token_(T+i) is chosen from the logits after token_0 .. token_(T+i-1), with u_i

    n_new = 0 gives the prompt back. T + n_new = T_max is still allowed.

    Source: Radford et al. 2019, section 2 (the model); Shazeer 2019 (incremental decoding).
    Errors: ValueError if T + n_new > T_max, if temperature > 0 and u is None, and for a
    temperature or top_k that `sample_token` refuses.

    A model that attends to its own token and answers with the one that follows it:

    >>> eye = np.eye(3)
    >>> params = {"embedding": eye, "position": np.zeros((8, 3)), "w_q": 20 * eye,
    ...           "w_k": 20 * eye, "w_v": eye, "w_out": np.roll(eye, 1, axis=1)}
    >>> generate(np.array([0]), 4, params).tolist()
    [0, 1, 2, 0, 1]
    >>> generate(np.array([0]), 2, params, temperature=1.0, u=np.array([0.1, 0.9])).tolist()
    [0, 0, 2]
    """
    ### BEGIN SOLUTION
    t, t_max = prompt.shape[-1], len(params["position"])
    if t + n_new > t_max:
        raise ValueError(f"prompt and n_new make {t + n_new} tokens, the model has {t_max}")
    if temperature < 0 or (top_k is not None and top_k < 1):
        got = f"got {temperature} and {top_k}"
        raise ValueError(f"temperature must be at least 0 and top_k at least 1, {got}")
    if temperature > 0 and u is None:
        raise ValueError("u is needed to sample at a temperature above 0")

    # int, not the type of the prompt: a small one may not hold every id of the vocabulary.
    tokens = np.zeros((*prompt.shape[:-1], t + n_new), dtype=int)
    tokens[..., :t] = prompt
    cache, fed = new_cache(), 0
    for end in range(t, t + n_new):  # the text is known up to `end` and fed up to `fed`
        x = params["embedding"][tokens[..., fed:end]] + params["position"][fed:end]
        y, cache = attend_with_cache(x, cache, params["w_q"], params["w_k"], params["w_v"])
        fed = end
        logits = y[..., -1, :] @ params["w_out"]  # only the last row predicts something new
        u_now = u[..., end - t] if temperature > 0 else None
        tokens[..., end] = sample_token(logits, u_now, temperature, top_k)
    return tokens
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: a story
#
# One layer in the form of step 6, trained on small stories, and your functions of steps 1 to 8.
# Below it the same, trained without its mask. Which words would it have to see?

# %% tags=["active-ipynb"]
# write("the owl")

# %% [markdown]
# ## What you have now, and what comes next
#
# > **In torch** `torch.multinomial(p, 1)` draws a token. In the library transformers
# > the loop is `model.generate(ids, do_sample=True, temperature=0.8, top_k=50)`.
#
# **Read on.** Holtzman et al. 2020, sections 1, 3 and 4.3: 20 minutes. Look for why the
# most probable text is dull.
#
# **Bonus.** `make bonus` asks for `sample_top_p`, which keeps the most probable tokens
# that reach p together.
#
# **In one sentence:** generation is the autoregressive loop at inference: choose a token,
# append it, read it through the cache, choose again.
#
# You have the whole way from vectors to text: attention that cannot look ahead, a loss
# with no answer in it, a cache that is valid because of the mask, and a loop that
# writes. `make write` lets it write a story, with a small model that the kit has trained.
# Greedy generation through the cache gives what the slow way gives (unless
# rounding decides a tie). Try it, as the best test of steps 5 to 8 together:
#
#     text = prompt
#     for _ in range(n_new):
#         best = next_token_logits(text, params)[..., -1, :].argmax(axis=-1)
#         text = np.concatenate([text, best[..., None]], axis=-1)
#
# Part II builds a full decoder from the same pieces: several heads, attention
# across two texts, blocks, and one cache per layer.
