from functools import partial
import numpy as np


def _fill(shown, hidden, mask):
    return np.where(mask, shown, hidden)


additive_mask = partial(_fill, 0.0, -np.inf)


def make_apply(hidden):
    def apply_mask(scores, mask):
        return _fill(scores, hidden, mask)
    return apply_mask


apply_mask = make_apply(-np.inf)


def make_comparison(compare):
    def padding_mask(tokens, pad_id):
        return compare(tokens, pad_id)[..., None, :]

    def causal_mask(t_q, t_k=None):
        t_k = t_q if t_k is None else t_k
        if t_k < t_q:
            raise ValueError("t_k")
        # not equal to the larger of the two, except on the diagonal
        i, j = np.ogrid[t_k - t_q:t_k, 0:t_k]
        return ~(compare(i, np.maximum(i, j)))

    return padding_mask, causal_mask


padding_mask, causal_mask = make_comparison(np.not_equal)
