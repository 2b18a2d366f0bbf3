import numpy as np
from bisect import bisect_right
from exercises.step06_loss import cross_entropy

IGNORED = -100


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted, targets = [], []
    for tok, s, r, rnd in zip(*(a.ravel().tolist() for a in (tokens, select, replace, random_ids))):
        chosen = s < rate
        targets.append(tok if chosen else IGNORED)
        corrupted.append((mask_id, rnd, tok)[bisect_right((0.8, 0.9), r)] if chosen else tok)
    shape = tokens.shape
    return np.array(corrupted, dtype=int).reshape(shape), np.array(targets, dtype=int).reshape(shape)


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=IGNORED)
