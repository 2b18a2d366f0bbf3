import numpy as np
from exercises.step06_loss import cross_entropy

def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    new, goal = [], []
    for token, s, r, other in zip(tokens.ravel().tolist(), select.ravel(), replace.ravel(), random_ids.ravel().tolist()):
        chosen = s < rate
        goal.append(token if chosen else -100)
        new.append((mask_id if r < 0.8 else other if r < 0.9 else token) if chosen else token)
    return np.array(new, dtype=np.int64).reshape(tokens.shape), np.array(goal, dtype=np.int64).reshape(tokens.shape)

def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, ignore_id=-100)
