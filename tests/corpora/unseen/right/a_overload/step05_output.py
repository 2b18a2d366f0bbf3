import numpy as np
from exercises.algebra import Mask, Tensor


def attention_output(weights, v):
    return +(Tensor(weights) * Tensor(v))


def attention(q, k, v, mask=None):
    q, k, v = map(Tensor, (q, k, v))
    return +(~((q ^ k) | (True if mask is None else mask)) * v)


def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    t, n = Tensor(x), x.shape[-2]
    mask = Mask.lower(n, n)
    if padding is not None:
        mask = mask & padding
    return +(~(((t >> w_q) ^ (t >> w_k)) | mask) * (t >> w_v))
