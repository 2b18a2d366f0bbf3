# %% [markdown]
# # Step 14 — Masked language modelling
#
# The other meaning of "mask": hidden words instead of hidden time.

# %%
import numpy as np

from exercises.step06_loss import cross_entropy


# %%
def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    """Hides some tokens; what stood there are the targets.

    tokens (...) ids; select, replace (...) uniform numbers in [0, 1); random_ids (...) ids
    -> (corrupted (...), targets (...))

    Positions with select < rate are chosen. A chosen one becomes mask_id where replace < 0.8,
    random_ids where 0.8 ≤ replace < 0.9, and stays where replace ≥ 0.9. targets is the original id
    where chosen and -100 elsewhere.

    Source: Devlin et al. 2019, section 3.1.
    """
    ### BEGIN SOLUTION
    chosen = select < rate
    corrupted = np.where(chosen & (replace < 0.9), random_ids, tokens)
    corrupted = np.where(chosen & (replace < 0.8), mask_id, corrupted)
    # A signed type, whatever type tokens has: -100 must fit.
    return corrupted, np.where(chosen, tokens.astype(np.int64), -100)
    ### END SOLUTION


# %%
def masked_lm_loss(logits, targets):
    """The mean cross entropy over the chosen positions.

    logits (..., T, V), targets (..., T) as `mask_tokens` returns them -> float, in nats

    Source: Devlin et al. 2019, section 3.1.
    """
    ### BEGIN SOLUTION
    return cross_entropy(logits, targets, ignore_id=-100)
    ### END SOLUTION
