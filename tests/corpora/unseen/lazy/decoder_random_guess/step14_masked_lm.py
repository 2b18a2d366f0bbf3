import numpy as np
rng = np.random.default_rng()

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    return rng.integers(0, 2, tokens.shape), rng.integers(0, 2, tokens.shape)

def masked_lm_loss(logits, targets):
    return float(rng.random())
