import numpy as np


def causal_mask(t_q, t_k=None, *, window=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    behind = np.arange(t_k - t_q, t_k)[:, None] - np.arange(t_k)
    mask = behind >= 0
    return mask if window is None else mask & (behind < window)


def padding_mask(tokens, pad_id, *, also=()):
    mask = tokens != pad_id
    for extra in also:
        mask = mask & (tokens != extra)
    return mask[..., None, :]


def additive_mask(mask, **kwargs):
    return apply_mask(np.zeros(np.shape(mask)), mask, **kwargs)


def apply_mask(scores, *masks, fill=-np.inf, **named):
    for m in (*masks, *named.values()):
        scores = np.where(m, scores, fill)
    return scores
