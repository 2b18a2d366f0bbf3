"""A producer of blocks, a queue, a consumer."""
import queue
import threading
import numpy as np

def partial_attention(q, k, v, mask=None):
    s = np.matmul(q, np.moveaxis(k, -1, -2)) * q.shape[-1] ** -0.5
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    m = np.max(s, axis=-1)
    finite = np.isfinite(m)
    e = np.exp(s - np.where(finite, m, 0)[..., None])
    z = np.sum(e, axis=-1)
    return np.matmul(e, v) / np.where(finite, z, 1)[..., None], np.where(finite, m + np.log(np.where(finite, z, 1)), -np.inf)

def merge_attention(out_a, lse_a, out_b, lse_b):
    lse = np.stack([lse_a, lse_b])
    m = lse.max(0)
    w = np.exp(lse - np.where(np.isfinite(m), m, 0))
    z = w.sum(0)
    some = z > 0
    z1 = np.where(some, z, 1)
    out = np.einsum("s...,s...d->...d", w / z1, np.stack([out_a, out_b]))
    return out, np.where(some, np.where(some, m, 0) + np.log(z1), -np.inf)

def streaming_attention(q, k, v, block, causal=False):
    if block < 1:
        raise ValueError("block")
    t_q, t_k = q.shape[-2], k.shape[-2]
    todo = queue.Queue(maxsize=2)
    def produce():
        for lo in range(0, t_k, block):
            todo.put((lo, k[..., lo:lo + block, :], v[..., lo:lo + block, :]))
        todo.put(None)
    worker = threading.Thread(target=produce, daemon=True)
    worker.start()
    result = None
    while (item := todo.get()) is not None:
        lo, kb, vb = item
        mask = None
        if causal:
            mask = np.less_equal.outer(np.arange(lo, lo + kb.shape[-2]), np.arange(t_k - t_q, t_k)).T
        part = partial_attention(q, kb, vb, mask)
        result = part if result is None else merge_attention(*result, *part)
    worker.join()
    return result[0]
