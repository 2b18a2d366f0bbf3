from numpy import *
from functools import reduce
def partial_attention(q, k, v, mask=None):
    s = where(True if mask is None else mask, q @ k.mT / sqrt(q.shape[-1]), -inf)
    l = logaddexp.reduce(s, -1)
    return exp(s - where(isinf(l), 0, l)[..., None]) @ v, l
def merge_attention(out_a, lse_a, out_b, lse_b):
    l = logaddexp(lse_a, lse_b)
    z = where(isinf(l), 0, l)
    return exp(lse_a - z)[..., None] * out_a + exp(lse_b - z)[..., None] * out_b, l
def streaming_attention(q, k, v, block, causal=False):
    if block < 1: raise ValueError
    n, t = q.shape[-2], k.shape[-2]
    part = lambda i: partial_attention(q, k[..., i:i + block, :], v[..., i:i + block, :], arange(t - n, t)[:, None] >= arange(t)[i:i + block] if causal else None)
    return reduce(lambda a, b: merge_attention(*a, *b), map(part, range(0, t, block)))[0]
