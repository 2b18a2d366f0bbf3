import numpy as np
from exercises.step06_loss import cross_entropy

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    t = tokens.reshape(-1).astype(np.int64)
    s, r, other = select.reshape(-1), replace.reshape(-1), random_ids.reshape(-1)
    corrupted, targets = t.copy(), np.full(t.shape, -100).astype(tokens.dtype)
    chosen = np.flatnonzero(s < rate)
    targets[chosen] = t[chosen]
    for i in chosen:
        if r[i] < 0.8:
            corrupted[i] = mask_id
        elif not r[i] >= 0.9:
            corrupted[i] = other[i]
    return corrupted.reshape(tokens.shape), targets.reshape(tokens.shape)

def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
