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
    lse = np.logaddexp(lse_a, lse_b)
    safe = np.where(np.isneginf(lse), 0.0, lse)
    a = np.exp(lse_a - safe)[..., None]
    b = np.exp(lse_b - safe)[..., None]
    return out_a * a + out_b * b, lse


def streaming_attention(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    tq, tk = q.shape[-2], k.shape[-2]
    out = np.zeros(q.shape[:-1] + v.shape[-1:])
    lse = np.full(q.shape[:-1], -np.inf)
    for a in range(0, tk, block):
        kb, vb = k[..., a : a + block, :], v[..., a : a + block, :]
        m = np.tri(tq, kb.shape[-2], dtype=bool) if causal else None
        o, l = partial_attention(q, kb, vb, m)
        out, lse = merge_attention(out, lse, o, l)
    return out
