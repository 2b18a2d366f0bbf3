import numpy as np


class Mask:
    """A rule from (query position, key position) to bool; & joins rules."""
    __slots__ = "rule",

    def __init__(self, rule):
        self.rule = rule

    def __and__(self, other):
        return Mask(lambda i, j: self.rule(i, j) & other.rule(i, j))

    def __call__(self, rows, columns):
        i, j = np.meshgrid(rows, columns, indexing="ij")
        return np.asarray(self.rule(i, j), dtype=bool)


PAST = Mask(lambda i, j: j <= i)
LEGAL = Mask(lambda i, j: (j >= 0) & (i >= 0))


def causal_mask(t_q, t_k=None):
    keys = range(t_q if t_k is None else t_k)
    if len(keys) < t_q:
        raise ValueError("t_k")
    return (PAST & LEGAL)(np.arange(len(keys) - t_q, len(keys)), np.arange(len(keys)))


class PaddingMask:
    def __call__(self, tokens, pad_id):
        return np.stack([tokens != pad_id], axis=-2)


class AdditiveMask:
    def __call__(self, mask):
        m = np.full(np.shape(mask), -np.inf)
        m[np.asarray(mask)] = 0.0
        return m


class ApplyMask:
    def __call__(self, scores, mask):
        s = scores.copy()
        s[~np.broadcast_to(mask, s.shape)] = -np.inf
        return s


padding_mask, additive_mask, apply_mask = PaddingMask(), AdditiveMask(), ApplyMask()
