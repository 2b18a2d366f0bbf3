import numpy as np
from exercises.step06_loss import cross_entropy

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    original = np.asarray(tokens, np.int64)
    ids = np.stack([np.full_like(original, mask_id), np.asarray(random_ids, np.int64), original])
    which = (replace >= 0.8).astype(int) + (replace >= 0.9)
    which = np.where(select < rate, which, 2)
    corrupted = np.take_along_axis(ids, which[None], 0)[0]
    return corrupted, np.where(select < rate, original, np.int64(-100))

def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
