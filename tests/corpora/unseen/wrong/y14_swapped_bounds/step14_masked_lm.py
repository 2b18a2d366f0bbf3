import numpy as np

from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    out = tokens.copy()
    targets = np.full(tokens.shape, -100)
    for idx in np.ndindex(tokens.shape):
        if select[idx] < rate:
            targets[idx] = tokens[idx]
            if replace[idx] < 0.8:
                out[idx] = random_ids[idx]
            elif replace[idx] < 0.9:
                out[idx] = mask_id
    return out, targets


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
