import numpy as np
from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted = np.array(tokens, int)
    targets = np.zeros(tokens.shape, int) - 100
    chosen = np.less(select, rate)
    np.putmask(targets, chosen, tokens)
    np.putmask(corrupted, chosen & np.less(replace, 0.9), random_ids)
    np.putmask(corrupted, chosen & np.less(replace, 0.8), mask_id)
    return corrupted, targets


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, -100)
