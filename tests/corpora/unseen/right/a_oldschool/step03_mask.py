import numpy as np


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k must not be smaller than t_q")
    # key minus query position must not be positive
    d = np.subtract.outer(np.arange(t_q) + (t_k - t_q), np.arange(t_k))
    return np.greater_equal(d, 0)


def padding_mask(tokens, pad_id):
    return np.not_equal(tokens, pad_id)[..., np.newaxis, :]


def additive_mask(mask):
    m = np.zeros(np.shape(mask))
    np.putmask(m, np.logical_not(mask), -np.inf)
    return m


def apply_mask(scores, mask):
    out = np.array(scores, dtype=float)
    hidden = np.zeros(out.shape, bool)
    hidden |= ~mask
    np.putmask(out, hidden, -np.inf)
    return out
