import math


def _array(x, dtype):
    import numpy

    return numpy.array(x, dtype=dtype)


def _map(f, x):
    return [_map(f, y) for y in x] if isinstance(x, list) else f(x)


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k is smaller than t_q")
    lead = t_k - t_q
    rows = [[True] * (lead + i + 1) + [False] * (t_q - i - 1) for i in range(t_q)]
    return _array(rows, bool)


def padding_mask(tokens, pad_id):
    def walk(t):
        return [walk(s) for s in t] if isinstance(t[0], list) else [[x != pad_id for x in t]]

    return _array(walk(tokens.tolist()), bool)


def additive_mask(mask):
    return _array(_map(lambda m: 0.0 if m else -math.inf, mask.tolist()), float)


def apply_mask(scores, mask):
    def walk(s, m):
        if isinstance(s, list):
            return [walk(a, b) for a, b in zip(s, m)]
        return s if m else -math.inf

    import numpy

    return _array(walk(scores.tolist(), numpy.broadcast_to(mask, scores.shape).tolist()), float)
