from functools import reduce
from operator import and_

import numpy as np


def _range(n):
    return () if n <= 0 else _range(n - 1) + (n - 1,)


def _rows(t_q, offset, t_k):
    return tuple(map(lambda i: tuple(map(lambda j: j <= i + offset, range(t_k))), range(t_q)))


def causal_mask(t_q, t_k=None):
    if t_k is None:
        return causal_mask(t_q, t_q)
    if t_k < t_q:
        raise ValueError("t_k")
    return np.array(_rows(t_q, t_k - t_q, t_k), dtype=bool).reshape(t_q, t_k)


def padding_mask(tokens, pad_id):
    return np.expand_dims(np.not_equal(tokens, pad_id), -2)


def combine(*masks):
    return reduce(and_, masks)


def additive_mask(mask):
    cond = np.frompyfunc(lambda m: 0.0 if m else float("-inf"), 1, 1)
    return np.asarray(cond(mask)).astype(float)


def apply_mask(scores, mask):
    return (lambda m: np.where(m, scores, float("-inf")))(np.broadcast_to(mask, scores.shape))
