import numpy as np
from exercises.step06_loss import cross_entropy
IGNORE = -100

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted = np.array(tokens, dtype=np.int64)
    targets = np.full(tokens.shape, IGNORE, dtype=np.int64)
    count = int(np.ceil(rate * tokens.size))
    chosen = select.ravel().argsort().argsort().reshape(tokens.shape) < count
    targets[chosen] = tokens[chosen]
    corrupted[chosen & (replace < 0.9)] = random_ids[chosen & (replace < 0.9)]
    corrupted[chosen & (replace < 0.8)] = mask_id
    return corrupted, targets

def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=IGNORE)
