import numpy as np

from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted = tokens.copy()
    targets = np.full(tokens.shape, -100, dtype=np.int64)
    chosen = np.nonzero(select < rate)
    targets[chosen] = tokens[chosen]
    r = replace[chosen]
    corrupted[chosen] = np.select([r < 0.8, r < 0.9], [np.full(r.shape, mask_id), random_ids[chosen]], tokens[chosen])
    return corrupted, targets


def masked_lm_loss(logits, targets):
    at = np.nonzero(targets != -100)
    if len(at[0]) == 0:
        raise ValueError("targets: nothing chosen")
    return cross_entropy(logits[at], targets[at])
