import numpy as np

from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = select < rate
    what = np.where(replace < 0.8, mask_id, np.where(replace < 0.9, random_ids, tokens))
    return np.where(chosen, what, tokens), np.where(chosen, tokens, -100)


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
