from functools import lru_cache
import numpy as np


@lru_cache(maxsize=64)
def _triangle(t_q, t_k):
    m = np.tril(np.ones((t_q, t_k), dtype=bool), t_k - t_q)
    m.setflags(write=False)
    return m


def causal_mask(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    return _triangle(int(t_q), int(t_k)).copy()      # a copy: callers may scribble on theirs


def padding_mask(tokens, pad_id):
    return (tokens != pad_id)[..., None, :]


def additive_mask(mask):
    return np.where(mask, 0.0, -np.inf)


def apply_mask(scores, mask):
    out = scores.copy()
    out[~mask] = -np.inf
    return out
