import math

import numpy as np


def attention_output(weights, v):
    if weights.ndim > 2:
        return np.stack([attention_output(w, u) for w, u in zip(weights, v)])
    return weights.dot(v)


def _attend(q, k, v, mask):
    if q.ndim > 2:
        return np.stack([_attend(*part) for part in zip(q, k, v, mask)])
    rows = []
    for i in range(len(q)):
        ok = np.flatnonzero(mask[i])
        if len(ok) == 0:
            rows.append(np.zeros(v.shape[-1]))
            continue
        s = k[ok].dot(q[i]) / math.sqrt(q.shape[-1])
        e = np.exp(s - s.max())
        rows.append((e / e.sum()).dot(v[ok]))
    return np.array(rows)


def attention(q, k, v, mask=None):
    shape = q.shape[:-1] + k.shape[-2:-1]
    return _attend(q, k, v, np.broadcast_to(True if mask is None else mask, shape))


def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    T = x.shape[-2]
    if padding is None:
        padding = np.ones((1, T), dtype=bool)
    if x.ndim > 2:
        padding = np.broadcast_to(padding, x.shape[:-2] + (1, T))
        return np.stack([masked_self_attention(a, w_q, w_k, w_v, p) for a, p in zip(x, padding)])
    mask = np.tri(T, dtype=bool) & padding
    return _attend(x.dot(w_q), x.dot(w_k), x.dot(w_v), mask)
