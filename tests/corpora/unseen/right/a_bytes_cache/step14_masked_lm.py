import numpy as np
from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    # a table of four columns, indexed by the fate of each position
    chosen = select < rate
    fate = chosen * (1 + (replace >= 0.8).astype(int) + (replace >= 0.9))
    table = np.stack([tokens, np.full(tokens.shape, mask_id), random_ids, tokens], axis=-1)
    corrupted = np.take_along_axis(table, fate[..., None], axis=-1)[..., 0]
    return corrupted, np.where(chosen, tokens, np.full(1, -100))


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
