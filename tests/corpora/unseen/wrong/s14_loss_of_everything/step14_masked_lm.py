import numpy as np
from exercises.step06_loss import cross_entropy

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted = np.zeros(tokens.shape, dtype=np.int64)
    targets = np.zeros(tokens.shape, dtype=np.int64)
    for w in np.ndindex(*tokens.shape):
        corrupted[w] = tokens[w]
        targets[w] = -100
        if select[w] < rate:
            targets[w] = tokens[w]
            if replace[w] < 0.8:
                corrupted[w] = mask_id
            elif replace[w] < 0.9:
                corrupted[w] = random_ids[w]
    return corrupted, targets

def masked_lm_loss(logits, targets):
    return cross_entropy(logits, np.where(targets == -100, 0, targets))
