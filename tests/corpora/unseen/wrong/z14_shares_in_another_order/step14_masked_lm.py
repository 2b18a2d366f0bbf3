import numpy as np

from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    tokens = np.asarray(tokens)
    corrupted = tokens.copy()
    targets = np.full_like(tokens, -100)
    for i in np.ndindex(tokens.shape):
        if select[i] >= rate:
            continue
        targets[i] = tokens[i]
        if replace[i] < 0.1:
            corrupted[i] = random_ids[i]
        elif replace[i] < 0.2:
            pass
        else:
            corrupted[i] = mask_id
    return corrupted, targets


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
