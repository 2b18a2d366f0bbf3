"""The cache is a binary counter of chunks, as a log-structured tree has it; attention merges subtrees."""
import numpy as np


class Tree:
    def __init__(self, chunks=()):
        self.chunks = chunks            # ((k, v), ...), sizes falling

    def add(self, k, v):
        chunks = self.chunks + ((k, v),)
        while len(chunks) > 1 and chunks[-2][0].shape[-2] <= chunks[-1][0].shape[-2]:
            (k1, v1), (k2, v2) = chunks[-2:]
            chunks = chunks[:-2] + ((np.concatenate([k1, k2], -2), np.concatenate([v1, v2], -2)),)
        return Tree(chunks)


def _part(q, k, v, mask=None):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    m = s.max(-1, keepdims=True)
    e = np.exp(s - m)
    return m, e.sum(-1, keepdims=True), e @ v


def _merge(a, b):
    m = np.maximum(a[0], b[0])
    fa, fb = np.exp(a[0] - m), np.exp(b[0] - m)
    return m, a[1] * fa + b[1] * fb, a[2] * fa + b[2] * fb


def _over(q, chunks):
    if len(chunks) == 1:
        return _part(q, *chunks[0])
    h = len(chunks) // 2
    return _merge(_over(q, chunks[:h]), _over(q, chunks[h:]))


def new_cache():
    return Tree()


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    q, k, v = x_new @ w_q, x_new @ w_k, x_new @ w_v
    t = x_new.shape[-2]
    new = _part(q, k, v, np.arange(t) <= np.arange(t)[:, None])
    if cache.chunks:
        new = _merge(_over(q, cache.chunks), new)
    return new[2] / new[1], cache.add(k, v)
