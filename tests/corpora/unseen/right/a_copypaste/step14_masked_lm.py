import numpy as np
def log_softmax(logits):
    mx = np.max(logits, axis=-1, keepdims=True)
    return (logits - mx) - np.log(np.exp(logits - mx).sum(axis=-1, keepdims=True))
def cross_entropy(logits, targets, ignore_id=None):
    lp = log_softmax(logits)
    lp = lp.reshape(-1, lp.shape[-1])
    tg = targets.reshape(-1)
    total = 0.0
    count = 0
    for i in range(len(tg)):
        if tg[i] == ignore_id:
            continue
        total -= lp[i, tg[i]]
        count += 1
    if count == 0: raise ValueError("targets: nothing left")
    return float(total / count)
def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    corrupted = tokens.copy()
    targets = np.full(tokens.shape, -100)
    chosen = select < rate
    targets[chosen] = tokens[chosen]
    corrupted[chosen & (replace < 0.8)] = mask_id
    r = chosen & (replace >= 0.8) & (replace < 0.9)
    corrupted[r] = random_ids[r]
    return corrupted, targets
def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
