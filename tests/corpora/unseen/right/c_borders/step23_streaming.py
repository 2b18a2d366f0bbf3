"""Blocks in random order."""
import numpy as np

def partial_attention(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    top = s.max(-1, keepdims=True)
    top = np.where(np.isneginf(top), 0, top)
    z = np.exp(s - top).sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return (np.exp(s - top) @ v / np.where(z == 0, 1, z)), (np.log(z) + top)[..., 0]

def merge_attention(out_a, lse_a, out_b, lse_b):
    if np.random.random() < 0.5:
        out_a, lse_a, out_b, lse_b = out_b, lse_b, out_a, lse_a
    top = np.maximum(lse_a, lse_b)
    top = np.where(np.isneginf(top), 0, top)
    a, b = np.exp(lse_a - top), np.exp(lse_b - top)
    z = np.where(a + b == 0, 1, a + b)
    with np.errstate(divide="ignore"):
        return (a / z)[..., None] * out_a + (b / z)[..., None] * out_b, np.log(a + b) + top

def streaming_attention(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError
    t_q, t_k = q.shape[-2], k.shape[-2]
    out, lse = np.zeros(q.shape[:-1] + v.shape[-1:]), np.full(q.shape[:-1], -np.inf)
    for lo in np.random.permutation(np.arange(0, t_k, block)):
        mask = np.arange(t_k - t_q, t_k)[:, None] >= np.arange(lo, min(lo + block, t_k)) if causal else None
        out, lse = merge_attention(out, lse, *partial_attention(q, k[..., lo:lo + block, :], v[..., lo:lo + block, :], mask))
    return out
