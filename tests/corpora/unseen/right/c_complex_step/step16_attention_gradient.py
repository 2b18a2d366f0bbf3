import numpy as np
from exercises.step15_gradients import complex_step

def attend(q, k, v, mask):
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    m = np.broadcast_to(True if mask is None else mask, s.shape)
    top = np.where(m, s.real, -np.inf).max(-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    e = np.where(m, np.exp(np.where(m, s - top, 0)), 0)
    z = e.sum(-1, keepdims=True)
    return (e @ v) / np.where(m.any(-1, keepdims=True), z, 1)

def attention_backward(d_out, q, k, v, mask=None):
    return tuple(complex_step(lambda q, k, v: attend(q, k, v, mask), d_out, q, k, v))

def masked_self_attention_backward(d_out, x, w_q, w_k, w_v, padding=None):
    mask = np.tri(x.shape[-2], dtype=bool)
    mask = mask if padding is None else mask & padding
    return complex_step(lambda x, a, b, c: attend(x @ a, x @ b, x @ c, mask), d_out, x, w_q, w_k, w_v)
