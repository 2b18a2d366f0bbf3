import math
import numpy as np

MINUS_INFINITY = float("-inf")


def causal_mask(t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k must be at least t_q")
    mask = []
    for i in range(t_q):
        my_position = t_k - t_q + i
        mask.append([j <= my_position for j in range(t_k)])
    return np.array(mask, dtype=bool).reshape(t_q, t_k)


def padding_mask(tokens, pad_id):
    tokens = np.asarray(tokens)
    flags = [token != pad_id for token in tokens.ravel().tolist()]
    return np.array(flags, dtype=bool).reshape(tokens.shape[:-1] + (1, tokens.shape[-1]))


def additive_mask(mask):
    mask = np.asarray(mask)
    out = []
    for allowed in mask.ravel().tolist():
        out.append(0.0 if allowed else MINUS_INFINITY)
    return np.array(out, dtype=float).reshape(mask.shape)


def apply_mask(scores, mask):
    scores = np.asarray(scores)
    full = np.broadcast_to(mask, scores.shape)
    out = []
    for s, ok in zip(scores.ravel().tolist(), full.ravel().tolist()):
        if ok:
            out.append(s)
        else:
            out.append(MINUS_INFINITY)
    return np.array(out, dtype=float).reshape(scores.shape)
