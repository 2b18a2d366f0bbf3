import numpy as np
from exercises.step06_loss import cross_entropy


@np.vectorize(otypes=[int, int])
def _one(token, select, replace, random_id, mask_id, rate):
    if not select < rate:
        return token, -100
    if replace < 0.8:
        return mask_id, token
    return (random_id if replace < 0.9 else token), token


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return _one(tokens, select, replace, random_ids, mask_id, rate)


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
