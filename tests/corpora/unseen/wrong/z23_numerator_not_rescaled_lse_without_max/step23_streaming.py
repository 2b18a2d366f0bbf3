import numpy as np

from exercises.step02_scores import attention_scores
from exercises.step03_mask import apply_mask


def partial_attention(q, k, v, mask=None):
    scores = attention_scores(q, k)
    if mask is not None:
        scores = apply_mask(scores, mask)
    m = scores.max(axis=-1, keepdims=True)
    m = np.where(np.isneginf(m), 0.0, m)
    e = np.exp(scores - m)
    z = e.sum(axis=-1)
    out = (e @ v) / np.where(z > 0, z, 1.0)[..., None]
    with np.errstate(divide="ignore"):
        return out, np.log(z)


def merge_attention(out_a, lse_a, out_b, lse_b):
    top = np.maximum(lse_a, lse_b)
    safe = np.where(np.isfinite(top), top, 0.0)
    w_a, w_b = np.exp(lse_a - safe), np.exp(lse_b - safe)
    total = w_a + w_b
    div = np.where(total == 0, 1.0, total)
    out = out_a * (w_a / div)[..., None] + out_b * (w_b / div)[..., None]
    with np.errstate(divide="ignore"):
        lse = safe + np.log(total)
    return out, lse


def streaming_attention(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block must be at least 1")
    t_q, t_k = q.shape[-2], k.shape[-2]
    m = np.full(q.shape[:-1] + (1,), -np.inf)
    z = np.zeros(q.shape[:-1] + (1,))
    acc = np.zeros(q.shape[:-1] + (v.shape[-1],))
    row = np.arange(t_k - t_q, t_k)[:, None]
    for start in range(0, t_k, block):
        s = attention_scores(q, k[..., start:start + block, :])
        if causal:
            s = apply_mask(s, np.arange(start, start + s.shape[-1]) <= row)
        m_new = np.maximum(m, s.max(axis=-1, keepdims=True))
        safe = np.where(np.isneginf(m_new), 0.0, m_new)
        p = np.exp(s - safe)
        z = z * np.exp(m - safe) + p.sum(axis=-1, keepdims=True)
        acc = acc + p @ v[..., start:start + block, :]
        m = m_new
    return acc / np.where(z > 0, z, 1.0)
