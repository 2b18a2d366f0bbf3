import numpy as np
from exercises.step06_loss import cross_entropy

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    tokens = tokens.astype(np.int64)
    chosen = select < rate
    a, b = chosen & (replace < 0.8), chosen & (replace >= 0.8) & (replace < 0.9)
    corrupted = a * mask_id + b * random_ids.astype(np.int64) + ~(a | b) * tokens
    return corrupted, chosen * tokens + ~chosen * -100

def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, -100)
