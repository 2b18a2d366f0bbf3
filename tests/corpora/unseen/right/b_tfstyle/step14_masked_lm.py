import numpy as np

from exercises.step06_loss import cross_entropy

IGNORE = -100


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = np.less(select, rate)
    to_mask = np.logical_and(chosen, np.less(replace, 0.8))
    to_random = np.logical_and.reduce([chosen, np.greater_equal(replace, 0.8), np.less(replace, 0.9)])
    x = np.where(to_mask, np.full_like(tokens, mask_id), tokens)
    x = np.where(to_random, random_ids, x)
    y = np.where(chosen, tokens, np.full_like(tokens, IGNORE))
    return x, y


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, IGNORE)
