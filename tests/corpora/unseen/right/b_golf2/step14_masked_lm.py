import numpy as np
from exercises.step06_loss import cross_entropy as C
def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=.15):
    m = select < rate; return np.where(m * (replace < .8), mask_id, np.where(m * (replace < .9), random_ids, tokens)), np.where(m, tokens, -100)
def masked_lm_loss(logits, targets): return C(logits, targets, -100)
