import numpy as np


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = np.less(select, rate)
    bins = np.digitize(replace, (0.8, 0.9))              # 0: [.., .8), 1: [.8, .9), 2: [.9, ..)
    corrupted = np.select([~chosen, bins == 0, bins == 1], [tokens, np.asarray(mask_id), random_ids], default=tokens)
    targets = np.select([chosen], [tokens], default=-100)
    return corrupted, targets


def masked_lm_loss(logits, targets):
    hot = targets[..., None] == np.arange(logits.shape[-1])          # −100 matches nothing
    if not (n := np.count_nonzero(targets != -100)):
        raise ValueError("targets")
    z = np.subtract(logits, logits.max(-1, keepdims=True), dtype=float)
    log_z = np.log(np.exp(z).sum(-1))
    at_target = np.where(hot, z, 0.0).sum(-1)
    return float(np.where(targets == -100, 0.0, log_z - at_target).sum() / n)
