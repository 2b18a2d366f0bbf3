# %% [markdown]
# # Step 14 — Masked language modelling
#
# **Time** 30 minutes. **Difficulty** 2 of 5. **Needs** step 6.
#
# **After this you can**
#
# - tell the two meanings of the word mask apart,
# - hide words for training as BERT does,
# - say why such a model cannot write with a cache.
#
# *The course:* I attention · **II decoder:** 9 heads, 10 cross-attention, 11 block, 12
# decoder, 13 its cache, [14 masked words] · III training · IV attention today
#
# ## Before you read on
#
# "It takes [MASK] courage". You guess *great*. Which words did you use? Would a decoder
# have been allowed to? Decide before you go on.

# %% [markdown]
# ## Two meanings of one word
#
# The word "mask" has two meanings in this field, and they are nearly opposites. So far
# a mask hid **time**: the text was whole, and a position was not allowed to look at
# what came later. Here a mask hides **words**: some tokens are taken out of the text,
# and every position may look everywhere. The model is asked what stood there.
#
#     causal model    input    The  cat  sat  on        predicts the next token at every
#                     target   cat  sat  on   the       position; may look to the left
#
#     masked model    input    The  [M]  sat  on        predicts what was hidden, at the
#                     target   -    cat  -    -         hidden positions; looks both ways
#
# This is how BERT is trained (Devlin et al. 2019). Wilson Taylor used the same exercise
# in 1953 to measure how readable a text is for people, and called it cloze.
#
# ## Why looking both ways is right here and wrong there
#
# A mask has one purpose: **the answer must not be in what the model can see.** The two
# kinds of training keep to this in different ways.
#
# In step 6 the target of position t is the input of position t + 1. The answer stands
# in the input, one place to the right. So the attention must not go there; without the
# causal mask the model copies its answer from next door.
#
# Here the answer has been taken out of the input. Whatever still stands there is a
# fair clue, and words after the gap are as good a clue as words before it: "I poured
# the [M] into my cup." So nothing has to be hidden from the attention. A causal mask
# would do no harm to honesty, but it would throw half of the clues away.
#
# Padding masks are of the first kind, and forbid pairs for another reason: they hide
# positions without a word. A masked model still needs one if texts differ in length.
#
#     what is hidden        from whom                 where it is done
#     the future            attention                 scores, in every layer (step 3)
#     padding               attention                 scores, in every layer (step 3)
#     some of the words     the whole model           the input, once (this step)

# %% [markdown]
# ## Which tokens, and what becomes of them
#
# About 15 of 100 tokens are chosen. A chosen token has a target; the others have none,
# and are not scored. What a chosen token looks like in the input is decided separately:
#
#     80 of 100    the token [MASK], whose id is mask_id
#     10 of 100    a token drawn at random, which may be the same by chance
#     10 of 100    the token itself, unchanged
#
# **Why not [MASK] every time?** No text that the model is later used on holds this
# token. A model that only ever has to answer at [MASK] need not make anything of the
# other positions. With the last two kinds any word may be one that it is asked for: it
# may be right as it stands, it may be wrong, and nothing in the input tells which. So
# the model has to form an opinion of every word from the words around it.
#
# **Why so few?** With more of them hidden there are more answers to learn from in one
# pass, but fewer clues for each. 15 of 100 is what Devlin et al. used. It is not a law
# of nature: larger models have been trained well with 40 (Wettig et al. 2023).
#
# ## In short
#
# | what | formula | shape | NumPy |
# |---|---|---|---|
# | chosen | select < rate | that of the tokens | a comparison |
# | corrupted | mask_id, random id or itself | that of the tokens | `np.where`, twice |
# | targets | the id where chosen, else -100 | that of the tokens | `np.where` |
#
# ## By hand
#
# The text 5 3 8 3, the id of [MASK] is 9, the rate is 0.15. Two uniform numbers for
# each position are given: `select` says whether it is chosen, `replace` what becomes of
# it.
#
#     tokens       5      3      8      3
#     select       0.02   0.60   0.10   0.14
#     replace      0.31   0.25   0.85   0.97
#     random_ids   1      6      4      2
#                  ----   ----   ----   ----
#     chosen       yes    no     yes    yes
#     becomes      [M]    stays  random stays
#     corrupted    9      3      4      3
#     targets      5      -100   8      ?
#
# The second and the last token look the same afterwards, a 3 that is still a 3. Yet
# one has a target and the other has none. (Which target? The example of `mask_tokens`
# checks it.) So targets cannot be made by comparing the
# corrupted text with the original one. They are made from `select`, and from nothing
# else.
#
# **Common traps.** Hiding wherever `replace` < 0.8, chosen or not, which leaves hardly
# a word. Giving targets only to tokens that became [MASK]. Having targets everywhere:
# then more than 85 of 100 answers stand in the input, and the loss rewards copying. Why
# -100: it is what PyTorch's cross entropy ignores by default.
#
# **Sources.** Devlin et al. 2019, section 3.1 and appendix C.2 (the shares, and trials
# with others); Taylor 1953 (cloze); Wettig et al. 2023 (other rates).

# %%
import numpy as np

from exercises.step06_loss import cross_entropy

# %% [markdown]
# As in step 8, the random numbers are arguments, so the same call always gives the same
# result. A share begins with its lower limit and ends before its upper one, as the
# interval [0, 1) does. So a rate of 0 chooses nothing, not even where `select` is 0,
# and a rate of 1 chooses everything.
#
# A random id may happen to be the token's own, and [MASK] may happen to stand in the
# text. Nothing special follows from either.
#
# **Try first:** a rate of 0. Nothing may be hidden, and every target must be −100.


# %%
def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    """Hide some tokens of a text, and keep what stood there as targets.

    tokens (...) integers (int64 or int32); select, replace (...) uniform numbers in [0, 1);
    random_ids (...) ids -> (corrupted (...), targets (...)), both of integers

    A position is chosen where select < rate. A chosen one becomes

        mask_id        where replace < 0.8
        random_ids     where 0.8 ≤ replace < 0.9
        what it was    where replace ≥ 0.9

    and its target is the original id. Elsewhere the token stays and the target is -100.

    Source: Devlin et al. 2019, section 3.1.

    >>> tokens, random_ids = np.array([5, 3, 8, 3]), np.array([1, 6, 4, 2])
    >>> select, replace = np.array([0.02, 0.6, 0.1, 0.14]), np.array([0.31, 0.25, 0.85, 0.97])
    >>> corrupted, targets = mask_tokens(tokens, select, replace, random_ids, mask_id=9)
    >>> corrupted.tolist(), targets.tolist()
    ([9, 3, 4, 3], [5, -100, 8, 3])

    With a rate of 0 nothing is chosen:

    >>> mask_tokens(tokens, select, replace, random_ids, mask_id=9, rate=0)[1].tolist()
    [-100, -100, -100, -100]
    """
    ### BEGIN SOLUTION
    ids = tokens.astype(np.int64)  # tokens may be of a type that -100 does not fit into
    chosen = select < rate
    hidden = chosen & (replace < 0.8)
    replaced = chosen & (replace >= 0.8) & (replace < 0.9)
    corrupted = np.where(hidden, mask_id, np.where(replaced, random_ids, ids))
    # From `chosen`, not from what changed: a token that was kept has a target as well.
    return corrupted, np.where(chosen, ids, -100)
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: a text with gaps
#
# Four words of 24 are chosen, by numbers that were picked so that all three kinds occur. See the
# one that is kept: it looks like its neighbours, and yet it is asked for.

# %% tags=["active-ipynb"]
# look.hidden(mask_tokens)

# %% [markdown]
# The loss is the cross entropy of step 6, over the chosen positions and no others.
# There is no shift: position t is asked for the token that stood at position t.
#
# -100 is not a token. As an index it would be refused in a small vocabulary; in one of a
# hundred or more tokens NumPy would count it from the end and say nothing. Every chosen
# position has the same weight, whichever text it stands in, and a text in which none
# was chosen has no part in the mean.
#
# A uniform guess costs ln V here, too. But the number cannot be compared with that of a
# causal model: it answers other questions, with more clues.
#
# **Try first:** logits of zeros over V = 2 tokens and the targets −100 and 1 should give
# ln 2 = 0.693.


# %%
def masked_lm_loss(logits, targets):
    """Return the mean of -log p(target) in nats over the chosen positions.

    logits (..., T, V), targets (..., T) as `mask_tokens` returns them -> float

        -(1/N) Σ log p_t(target_t),   p_t = softmax of logits_t,   over the N positions t
                                      whose target is not -100

    Source: Devlin et al. 2019, section 3.1.
    Errors: ValueError if no position is chosen: a mean over nothing has no value.

    Probabilities 1/4 and 3/4; the first position was not chosen, so the loss is ln 4/3:

    >>> logits = np.log(np.array([[1.0, 3.0], [1.0, 3.0]]))
    >>> round(masked_lm_loss(logits, np.array([-100, 1])), 4)
    0.2877
    """
    ### BEGIN SOLUTION
    return cross_entropy(logits, targets, ignore_id=-100)
    ### END SOLUTION


# %% [markdown] tags=["active-ipynb"]
# ## To look at: clues from both sides
#
# Each word is hidden in turn, and your block of step 11 fills the gap. The diagonal must be empty:
# the answer is not in the text. See what the causal mask takes away from the first words.

# %% tags=["active-ipynb"]
# from exercises.step11_block import decoder_block
#
# look.both_sides(mask_tokens, decoder_block)

# %% [markdown]
# ## What such a model cannot do
#
# **It cannot write from left to right with a cache.** In a model that looks both ways
# every new token changes what all the others have become, in every layer above the
# first. Of the keys and values of step 7 only those of the first layer can be kept, for
# they are made from one token each. All others are computed anew, so each new token costs
# nearly a whole run over the text.
#
# **Its answers do not add up to the probability of a text.** The chain rule of step 6
# gives each token all tokens before it and none after, and the product of such answers
# is the probability of the text. Here each token is given its neighbours on both sides.
# The sum of those log probabilities over a text is a useful score (Salazar et al. 2020
# call it pseudo-log-likelihood), but it is not the log probability of the text, and the
# training is not told to make it one. Nor are several gaps filled jointly: each answer
# is given as if the other gaps stayed gaps, so "[M] [M]" may get "New" from New York
# and "Angeles" from Los Angeles.
#
# **What it is good at** is reading. Every position ends as a summary of its word in its
# context, both sides of it, and that is what searching, sorting and marking up texts
# need.
#
# ## What you have now, and what comes next
#
# > **In torch** −100 is the default of `ignore_index` in `F.cross_entropy`, which is
# > why everybody marks with it. The transformers library corrupts a batch with
# > `DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)`.
#
# **Read on.** Devlin et al. 2019, section 3.1: 10 minutes. Look for the 80, 10 and 10
# percent.
#
# **In one sentence:** masked language modelling hides words instead of the future, so
# every position may look both ways.
#
# You have all of it: attention that cannot see the future, heads, blocks, a decoder that writes
# with a cache, a bridge from one text to another, and the two ways to learn from
# nothing but text. In each of them the question was the same: what may be seen, and
# where does the answer stand?
#
# So far the weights of your models were given. Part III trains them: step 15 begins with
# the gradients of the pieces.
