import numpy as np
from exercises.step06_loss import cross_entropy

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    tokens, random_ids = tokens.astype(np.int64), random_ids.astype(np.int64)
    inner = np.where(replace < 0.9, random_ids, tokens)
    inner = np.where(replace < 0.8, np.int64(mask_id), inner)
    return np.where(select < rate, inner, tokens), np.where(select < rate, tokens, np.int64(-100))

def masked_lm_loss(logits, targets):
    if targets.ndim == 1:
        return cross_entropy(logits, targets, ignore_id=-100)
    rows = [(z, t) for z, t in zip(logits, targets) if np.any(t != -100)]
    if not rows:
        raise ValueError("targets")
    return float(np.mean([masked_lm_loss(z, t) for z, t in rows]))
