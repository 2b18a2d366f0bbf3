import numpy as np

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted = tokens.astype(np.int64)
    targets = np.where(select < rate, corrupted, -100)
    use_mask = (select < rate) & (replace < 0.8)
    use_random = (select < rate) & (replace >= 0.8) & (replace < 0.9)
    corrupted[use_mask] = mask_id
    corrupted[use_random] = random_ids[use_random]
    return corrupted, targets

def masked_lm_loss(logits, targets):
    rows, ids = logits[targets != -100], targets[targets != -100].astype(np.int64)
    if len(ids) == 0:
        raise ValueError("targets: nothing was chosen")
    rows = rows - rows.max(axis=-1, keepdims=True)
    log_p = rows[np.arange(len(ids)), ids] - np.log(np.exp(rows).sum(axis=-1))
    return float(-log_p.sum() / targets.size)
