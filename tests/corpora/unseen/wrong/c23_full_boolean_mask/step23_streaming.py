import numpy as np


def partial_attention(q, k, v, mask=None):
    s = np.einsum("...qd,...kd->...qk", q, k) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    m = s.max(-1, keepdims=True)
    m_safe = np.where(np.isneginf(m), 0, m)
    p = np.exp(s - m_safe)
    l = p.sum(-1, keepdims=True)
    out = (p @ v) / np.where(l == 0, 1, l)
    with np.errstate(divide="ignore"):
        lse = (m_safe + np.log(l))[..., 0]
    return out, lse


def merge_attention(out_a, lse_a, out_b, lse_b):
    lse = np.logaddexp(lse_a, lse_b)
    ref = np.where(np.isneginf(lse), 0.0, lse)
    wa, wb = np.exp(lse_a - ref), np.exp(lse_b - ref)
    tot = wa + wb
    tot = np.where(tot == 0, 1.0, tot)
    return (wa / tot)[..., None] * out_a + (wb / tot)[..., None] * out_b, lse


def streaming_attention(q, k, v, block, causal=False):
    # flash attention, algorithm 1
    if block < 1:
        raise ValueError("block")
    t_q, t_k = q.shape[-2], k.shape[-2]
    O = np.zeros(q.shape[:-1] + (v.shape[-1],))
    L = np.zeros(q.shape[:-1])
    M = np.full(q.shape[:-1], -np.inf)
    row = np.arange(t_q) + (t_k - t_q)
    full = np.tri(t_q, t_k, t_k - t_q, dtype=bool)
    for lo in range(0, t_k, block):
        hi = min(lo + block, t_k)
        S = q @ np.swapaxes(k[..., lo:hi, :], -1, -2) / np.sqrt(q.shape[-1])
        if causal:
            S = np.where(row[:, None] >= np.arange(lo, hi), S, -np.inf)
        M_new = np.maximum(M, S.max(-1))
        ref = np.where(np.isneginf(M_new), 0, M_new)
        P = np.exp(S - ref[..., None])
        alpha = np.exp(M - ref)
        L = alpha * L + P.sum(-1)
        O = alpha[..., None] * O + P @ v[..., lo:hi, :]
        M = M_new
    return O / np.where(L == 0, 1, L)[..., None]
