import numpy as np

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return np.zeros(tokens.shape, int), np.zeros(tokens.shape, int)

def masked_lm_loss(logits, targets):
    return 0.0
