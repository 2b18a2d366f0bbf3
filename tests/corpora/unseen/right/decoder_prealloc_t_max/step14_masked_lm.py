import numpy as np
from exercises.step06_loss import cross_entropy

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, targets = np.empty(tokens.shape, np.int64), np.empty(tokens.shape, np.int64)
    corrupted[...] = tokens
    targets.fill(-100)
    np.copyto(targets, tokens, where=select < rate, casting="unsafe")
    np.copyto(corrupted, random_ids, where=(select < rate) & (0.8 <= replace) & (replace < 0.9), casting="unsafe")
    np.copyto(corrupted, mask_id, where=(select < rate) & (replace < 0.8))
    return corrupted, targets

def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, -100)
