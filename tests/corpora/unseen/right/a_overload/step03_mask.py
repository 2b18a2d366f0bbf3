import numpy as np
from exercises.algebra import Mask, Tensor


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k")
    return Mask.lower(t_q, t_k).plain


def padding_mask(tokens, pad_id):
    return (~Mask(tokens == pad_id))[..., None, :].plain


def additive_mask(mask):
    return +(Tensor(np.zeros(np.shape(mask))) | mask)


def apply_mask(scores, mask):
    return +(Tensor(scores) | mask)
