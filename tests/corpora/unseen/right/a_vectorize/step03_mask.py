import numpy as np

_add = np.vectorize(lambda seen: 0.0 if seen else -np.inf, otypes=[float])
_put = np.vectorize(lambda s, seen: s if seen else -np.inf, otypes=[float])
_real = np.vectorize(lambda tok, pad: tok != pad, otypes=[bool])


def causal_mask(t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    return np.fromfunction(lambda i, j: j - i <= t_k - t_q, (t_q, t_k), dtype=int)


def padding_mask(tokens, pad_id):
    return np.expand_dims(_real(tokens, pad_id), -2)


def additive_mask(mask):
    return np.asarray(_add(mask))


def apply_mask(scores, mask):
    return _put(scores, mask)
