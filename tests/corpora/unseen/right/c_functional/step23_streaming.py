"""Divide and conquer over the keys: a tree of merges."""
import numpy as np

def partial_attention(q, k, v, mask=None):
    s = np.einsum("...id,...jd->...ij", q, k) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    lse = np.logaddexp.reduce(s.astype(np.float64), axis=-1)
    p = np.exp(s - np.where(lse == -np.inf, 0, lse)[..., None])
    return np.einsum("...ij,...jd->...id", p, v).astype(v.dtype), lse.astype(v.dtype)

def merge_attention(out_a, lse_a, out_b, lse_b):
    """Through the sigmoid of the difference."""
    lse = np.logaddexp(lse_a, lse_b)
    a_empty, b_empty = np.isneginf(lse_a), np.isneginf(lse_b)
    diff = np.where(a_empty | b_empty, 0, np.where(b_empty, 0, lse_b) - np.where(a_empty, 0, lse_a))
    share_b = 0.5 * (1 + np.tanh(diff / 2))
    share_b = np.where(b_empty, 0.0, np.where(a_empty, 1.0, share_b))[..., None]
    return (1 - share_b) * out_a + share_b * out_b, lse

def streaming_attention(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    t_q, t_k = q.shape[-2], k.shape[-2]
    cuts = range(0, t_k, block)
    def leaf(lo):
        hi = min(lo + block, t_k)
        mask = np.tri(t_q, hi - lo, t_k - t_q - lo, dtype=bool) if causal else None
        return partial_attention(q, k[..., lo:hi, :], v[..., lo:hi, :], mask)
    def over(cuts):
        if len(cuts) == 1:
            return leaf(cuts[0])
        mid = len(cuts) // 2
        return merge_attention(*over(cuts[:mid]), *over(cuts[mid:]))
    return over(cuts)[0]
