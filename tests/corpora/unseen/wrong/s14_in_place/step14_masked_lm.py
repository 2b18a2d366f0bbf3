import numpy as np
from exercises.step06_loss import cross_entropy

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, targets = np.require(tokens, np.int64, "W"), tokens.astype(np.int64)
    free = ~(select < rate)
    np.putmask(targets, free, -100)
    np.putmask(corrupted, ~free & (replace < 0.8), mask_id)
    np.putmask(corrupted, ~free & (replace >= 0.8) & (replace < 0.9), random_ids.astype(np.int64))
    return corrupted, targets

def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, -100)
