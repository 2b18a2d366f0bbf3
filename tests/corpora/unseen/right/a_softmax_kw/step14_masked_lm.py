import numpy as np
from exercises.step04_softmax import softmax


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    chosen = select < rate
    corrupted = np.copy(tokens)
    np.copyto(corrupted, random_ids, where=chosen & (replace < 0.9))
    np.copyto(corrupted, mask_id, where=chosen & (replace < 0.8))
    return corrupted, np.where(chosen, tokens, -100)


def masked_lm_loss(logits, targets):
    chosen = targets != -100
    if not chosen.any():
        raise ValueError("targets")
    lp = softmax(logits[chosen], log=True)
    return float(-lp[np.arange(len(lp)), targets[chosen]].mean())
