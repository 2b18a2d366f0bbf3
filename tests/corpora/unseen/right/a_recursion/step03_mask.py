import numpy as np


def causal_mask(t_q, t_k=None):
    """a causal square is two causal squares, a block of True and a block of False"""
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k")
    if t_k > t_q:
        return np.concatenate([np.ones((t_q, t_k - t_q), bool), causal_mask(t_q)], axis=1)
    if t_q <= 1:
        return np.ones((t_q, t_q), bool)
    h = t_q // 2
    return np.block([[causal_mask(h), np.zeros((h, t_q - h), bool)], [np.ones((t_q - h, h), bool), causal_mask(t_q - h)]])


def padding_mask(tokens, pad_id):
    if tokens.ndim == 1:
        return np.array([[bool(t != pad_id) for t in tokens]])
    return np.array([padding_mask(t, pad_id) for t in tokens])


def additive_mask(mask):
    if np.ndim(mask) == 0:
        return np.array(0.0 if mask else -np.inf)
    return np.array([additive_mask(m) for m in mask]) if np.ndim(mask) > 1 else np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    if scores.ndim == 1:
        return np.where(mask, scores, -np.inf)
    if np.ndim(mask) < scores.ndim:
        return np.array([apply_mask(s, mask) for s in scores])
    return np.array([apply_mask(s, mask[0 if len(mask) == 1 else i]) for i, s in enumerate(scores)])
