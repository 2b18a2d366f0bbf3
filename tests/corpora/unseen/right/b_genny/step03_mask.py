import numpy as np


def _rows(t_q, t_k):
    for i in range(t_k - t_q, t_k):
        yield np.arange(t_k) <= i


def causal_mask(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    return np.stack(list(_rows(t_q, t_k)))


def padding_mask(tokens, pad_id):
    flat = np.fromiter((t != pad_id for t in tokens.flat), dtype=bool, count=tokens.size)
    return flat.reshape(tokens.shape[:-1] + (1, tokens.shape[-1]))


def additive_mask(mask):
    return np.fromiter((0.0 if m else -np.inf for m in mask.flat), dtype=float, count=mask.size).reshape(mask.shape)


def apply_mask(scores, mask):
    pairs = zip(scores.flat, np.broadcast_to(mask, scores.shape).flat)
    return np.fromiter((s if m else -np.inf for s, m in pairs), dtype=float, count=scores.size).reshape(scores.shape)
