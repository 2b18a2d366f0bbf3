import numpy as np
import numpy.ma as ma


def causal_mask(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    mask = np.zeros((t_q, t_k), bool)
    rows, cols = np.tril_indices(t_q, t_k - t_q, t_k)
    mask[rows, cols] = True
    return mask


def padding_mask(tokens, pad_id):
    hidden = ma.getmaskarray(ma.masked_equal(tokens, pad_id))
    return ~hidden[..., None, :]


def additive_mask(mask):
    return apply_mask(np.zeros(np.shape(mask)), mask)


def apply_mask(scores, mask):
    hidden = np.broadcast_to(np.logical_not(mask), scores.shape)
    return ma.array(scores, mask=hidden, dtype=float).filled(-np.inf)
