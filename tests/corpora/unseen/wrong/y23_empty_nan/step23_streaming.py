import numpy as np

from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask


def partial_attention(q, k, v, mask=None):
    s = attention_scores(q, k)
    if mask is not None:
        s = apply_mask(s, mask)
    top = s.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    e = np.exp(s - top)
    total = e.sum(axis=-1, keepdims=True)
    out = (e @ v) / np.where(total == 0, 1.0, total)
    with np.errstate(divide="ignore"):
        lse = (np.log(total) + top)[..., 0]
    return out, lse


def merge_attention(out_a, lse_a, out_b, lse_b):
    m = np.maximum(lse_a, lse_b)
    a, b = np.exp(lse_a - m), np.exp(lse_b - m)
    return (a[..., None] * out_a + b[..., None] * out_b) / (a + b)[..., None], m + np.log(a + b)


def streaming_attention(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block must be at least 1")
    t_q, t_k = q.shape[-2], k.shape[-2]
    out, lse = None, None
    for start in range(0, t_k, block):
        stop = min(start + block, t_k)
        mask = None
        if causal:
            mask = np.arange(start, stop) <= (np.arange(t_q)[:, None] + t_k - t_q)
        o, l = partial_attention(q, k[..., start:stop, :], v[..., start:stop, :], mask)
        if out is None:
            out, lse = o, l
        else:
            out, lse = merge_attention(out, lse, o, l)
    return out
