import numpy as np
from exercises.checks import frozen, require


@frozen
def _causal(t_q, t_k):
    return np.arange(t_k) <= np.arange(t_k - t_q, t_k)[:, np.newaxis]


@require(lambda a: a["t_k"] is None or a["t_k"] >= a["t_q"], "t_k < t_q")
def causal_mask(t_q, t_k=None):
    return _causal(int(t_q), int(t_q if t_k is None else t_k)).copy()


def padding_mask(tokens, pad_id):
    return np.expand_dims(tokens != pad_id, axis=-2)


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    return np.where(mask, scores, -np.inf)
