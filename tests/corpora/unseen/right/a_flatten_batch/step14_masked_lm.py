import numpy as np
from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted = tokens.reshape(-1).copy()
    targets = np.full(tokens.size, -100)
    for i in np.flatnonzero(select.reshape(-1) < rate):
        targets[i] = corrupted[i]
        r = replace.reshape(-1)[i]
        if r < 0.9:
            corrupted[i] = random_ids.reshape(-1)[i] if r >= 0.8 else mask_id
    return corrupted.reshape(tokens.shape), targets.reshape(tokens.shape)


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, -100)
