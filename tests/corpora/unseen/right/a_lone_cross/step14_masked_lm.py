import numpy as np
from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    c = (select < rate).astype(np.int64)
    m = c * (replace < 0.8)
    r = c * (replace >= 0.8) * (replace < 0.9)
    return tokens * (1 - m - r) + mask_id * m + random_ids * r, tokens * c - 100 * (1 - c)


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, -100)
