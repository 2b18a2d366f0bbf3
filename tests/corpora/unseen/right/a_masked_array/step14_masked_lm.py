import numpy as np
import numpy.ma as ma
from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = ~ma.getmaskarray(ma.masked_greater_equal(select, rate))
    targets = ma.array(tokens, mask=~chosen, dtype=np.int64).filled(-100)
    hide = ma.array(tokens, mask=chosen & (replace < 0.8), dtype=np.int64).filled(mask_id)
    swap = chosen & (0.8 <= replace) & (replace < 0.9)
    return np.where(swap, random_ids, hide), targets


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
