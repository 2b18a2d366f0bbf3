import numpy as np


def causal_mask(t_q, t_k=None):
    n = t_q if t_k is None else t_k
    if n < t_q:
        raise ValueError("t_k < t_q")
    square = np.tri(n)  # float
    return square[n - t_q :, :] > 0.5


def padding_mask(tokens, pad_id):
    m = 1.0 - (tokens == pad_id).astype(float)
    return m[..., np.newaxis, :].astype(bool)


def additive_mask(mask):
    m = mask.astype(float)
    with np.errstate(divide="ignore"):
        return np.log(m)  # log 1 = 0, log 0 = -inf


def apply_mask(scores, mask):
    return scores + additive_mask(np.asarray(mask))
