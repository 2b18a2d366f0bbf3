import numpy as np

NOTHING = -np.inf


def _finite(a):
    return np.where(a == NOTHING, 0.0, a)


def partial_attention(q, k, v, mask=None):
    s = np.matmul(q, np.swapaxes(k, -1, -2), dtype=np.float64) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, NOTHING)
    top = _finite(s.max(axis=-1))
    s = s - top[..., None]
    rest = np.logaddexp.reduce(s, axis=-1)
    return np.exp(s - _finite(rest)[..., None]) @ v, top + rest


def merge_attention(out_a, lse_a, out_b, lse_b):
    lse_a, lse_b = np.asarray(lse_a, np.float64), np.asarray(lse_b, np.float64)
    top = _finite(np.maximum(lse_a, lse_b))
    lse_a, lse_b = lse_a - top, lse_b - top
    both = np.logaddexp(lse_a, lse_b)
    base = _finite(both)
    wa, wb = np.exp(lse_a - base), np.exp(lse_b - base)
    return wa[..., None] * out_a + wb[..., None] * out_b, top + both


def streaming_attention(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    t_q, t_k = q.shape[-2], k.shape[-2]
    me = np.arange(t_k - t_q, t_k)[:, None]
    done = np.zeros(q.shape[:-1] + v.shape[-1:]), np.full(q.shape[:-1], NOTHING)
    for lo in range(0, t_k, block):
        hi = min(lo + block, t_k)
        seen = np.arange(lo, hi) <= me if causal else None
        done = merge_attention(*done, *partial_attention(q, k[..., lo:hi, :], v[..., lo:hi, :], seen))
    return done[0]
