import math
import numpy as np

def partial_attention(q, k, v, mask=None):
    out = np.zeros(q.shape[:-1] + v.shape[-1:])
    lse = np.zeros(q.shape[:-1])
    if mask is not None:
        mask = np.broadcast_to(mask, q.shape[:-1] + k.shape[-2:-1])
    for b in np.ndindex(q.shape[:-2]):
        for i in range(q.shape[-2]):
            s = np.dot(k[b], q[b][i]).astype(float) / math.sqrt(q.shape[-1])
            if mask is not None:
                s = s[mask[b][i]]
                vs = v[b][mask[b][i]]
            else:
                vs = v[b]
            if len(s) == 0:
                lse[b][i] = -math.inf
                continue
            biggest = s.max()
            e = np.exp(s - biggest)
            lse[b][i] = biggest + math.log(e.sum())
            out[b][i] = np.dot(e / e.sum(), vs)
    return out, lse

def merge_attention(out_a, lse_a, out_b, lse_b):
    out = np.zeros(out_a.shape)
    lse = np.zeros(lse_a.shape)
    for i in np.ndindex(lse_a.shape):
        a, b = float(lse_a[i]), float(lse_b[i])
        m = max(a, b)
        if m == -math.inf:
            lse[i] = m
            continue
        wa, wb = math.exp(a - m), math.exp(b - m)
        out[i] = (wa * out_a[i] + wb * out_b[i]) / (wa + wb)
        lse[i] = m + math.log(wa + wb)
    return out, lse

def streaming_attention(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError('block')
    t_q, t_k = q.shape[-2], k.shape[-2]
    out = np.zeros(q.shape[:-1] + v.shape[-1:])
    lse = np.zeros(q.shape[:-1]) - np.inf
    start = 0
    while start < t_k:
        stop = min(start + block, t_k)
        mask = None
        if causal:
            mask = np.zeros((t_q, stop - start), dtype=bool)
            for i in range(t_q):
                for j in range(start, stop):
                    if j <= i + t_k - t_q:
                        mask[i, j - start] = True
        o, l = partial_attention(q, k[..., start:stop, :], v[..., start:stop, :], mask)
        out, lse = merge_attention(out, lse, o, l)
        start = stop
    return out
