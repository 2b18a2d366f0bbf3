import numpy as np

from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = (select < rate).astype(np.int64)
    masked = (replace < 0.8).astype(np.int64)
    random = (replace < 0.9).astype(np.int64) - masked
    kept = 1 - masked - random
    new = masked * mask_id + random * random_ids + kept * tokens
    return chosen * new + (1 - chosen) * tokens, chosen * tokens - 100 * (1 - chosen)


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, -100)
