import numpy as np
from exercises.step06_loss import cross_entropy


def mask_tokens(tokens, select, replace, random_ids, mask_id, rate=0.15):
    flat, out = tokens.ravel(), tokens.flatten()
    targets = np.full(flat.shape, -100)
    s, r = select.ravel(), replace.ravel()
    # the chosen positions, sorted by their second number
    order = np.argsort(s, kind="stable")
    chosen = order[: np.searchsorted(s[order], rate, side="left")]
    chosen = chosen[np.argsort(r[chosen], kind="stable")]
    first, second = np.searchsorted(r[chosen], [0.8, 0.9], side="left")
    targets[chosen] = flat[chosen]
    out[chosen[:first]] = mask_id
    out[chosen[first:second]] = random_ids.ravel()[chosen[first:second]]
    return out.reshape(tokens.shape), targets.reshape(tokens.shape)


def masked_lm_loss(logits, targets):
    return cross_entropy(logits, targets, -100)
