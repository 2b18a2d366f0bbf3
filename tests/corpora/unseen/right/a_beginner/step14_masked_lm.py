import numpy as np
from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted = np.zeros(tokens.shape, dtype=int)
    targets = np.zeros(tokens.shape, dtype=int)
    for index in np.ndindex(*tokens.shape):
        corrupted[index] = tokens[index]
        targets[index] = -100
        if select[index] < rate:
            targets[index] = tokens[index]
            if replace[index] < 0.8:
                corrupted[index] = mask_id
            elif replace[index] < 0.9:
                corrupted[index] = random_ids[index]
    return corrupted, targets


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
