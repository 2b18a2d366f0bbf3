import numpy as np


def causal_pairs(t_q, t_k):
    past = t_k - t_q
    return {(i, j) for i in range(t_q) for j in range(past + i + 1)}


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_q > t_k:
        raise ValueError("t_k")
    mask = np.zeros((t_q, t_k), dtype=bool)
    for pair in causal_pairs(t_q, t_k):
        mask[pair] = True
    return mask


def padding_mask(tokens, pad_id):
    padded = set(zip(*(ix.tolist() for ix in np.nonzero(tokens == pad_id))))
    mask = np.ones(tokens.shape, dtype=bool)
    for where in padded:
        mask[where] = False
    return np.expand_dims(mask, axis=-2)


def additive_mask(mask):
    out = np.full(mask.shape, -np.inf)
    for where in set(zip(*np.nonzero(mask))):
        out[where] = 0.0
    return out


def apply_mask(scores, mask):
    out = np.full(scores.shape, -np.inf, dtype=np.float64)
    ok = np.nonzero(np.broadcast_to(mask, scores.shape))
    out[ok] = scores[ok]
    return out
