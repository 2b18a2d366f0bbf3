import warnings
import numpy as np
from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = select < rate
    print(f"{chosen.sum()} of {chosen.size} chosen")
    if not chosen.any():
        warnings.warn("nothing chosen: no loss from this one")
    corrupted = tokens.copy()
    for i in map(tuple, np.argwhere(chosen)):
        if replace[i] >= 0.9:
            print("keep", i)
            continue
        corrupted[i] = mask_id if replace[i] < 0.8 else random_ids[i]
        print(tokens[i], "->", corrupted[i])
    return corrupted, np.where(chosen, tokens, -100)


def masked_lm_loss(logits, targets):
    print("loss over", (targets != -100).sum())
    return cross_entropy(logits, targets, -100)
