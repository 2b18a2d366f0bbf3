import numpy as np

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return tokens.copy(), np.full(tokens.shape, -100)

def masked_lm_loss(logits, targets):
    return 0.0
