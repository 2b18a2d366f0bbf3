import numpy as np
from exercises.step06_loss import cross_entropy

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    tokens = tokens.astype(np.int64)
    chosen = select <= rate
    swapped = np.select([replace < 0.8, replace < 0.9], [np.full(tokens.shape, mask_id), random_ids.astype(np.int64)], tokens)
    return np.where(chosen, swapped, tokens), np.where(chosen, tokens, -100)

def masked_lm_loss(logits, targets):
    chosen = targets != -100
    if not np.any(chosen):
        raise ValueError("targets")
    return cross_entropy(logits[chosen], targets[chosen])
