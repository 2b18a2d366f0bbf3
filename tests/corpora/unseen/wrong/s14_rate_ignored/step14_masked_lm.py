import numpy as np
from exercises.step06_loss import cross_entropy

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    old = tokens.astype(np.int64)
    chosen = (select < 0.15).astype(np.int64)
    masked = chosen * (replace < 0.8)
    noise = chosen * (replace < 0.9) - masked
    corrupted = old + masked * (mask_id - old) + noise * (random_ids.astype(np.int64) - old)
    return corrupted, chosen * (old + 100) - 100

def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
