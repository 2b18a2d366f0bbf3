import numpy as np


def rotary_angles(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head must be even")
    i = np.arange(d_head // 2)
    freq = float(base) ** (-2.0 * i / d_head)
    return np.asarray(positions)[..., None] * freq


def rotate(x, angles):
    a, b = x[..., 0::2], x[..., 1::2]
    out = np.empty(np.broadcast_shapes(x.shape, angles.shape[:-1] + (x.shape[-1],)))
    out[..., 0::2] = a * np.cos(angles) - b * np.sin(angles)
    out[..., 1::2] = a * np.sin(angles) + b * np.cos(angles)
    return out


def alibi_slopes(n_heads):
    if n_heads < 1 or n_heads & (n_heads - 1):
        raise ValueError("n_heads must be a power of two")
    return 2.0 ** (-8.0 * (np.arange(n_heads) + 1) / n_heads)


def alibi_bias(n_heads, t_q, t_k=None):
    if t_k is None:
        t_k = t_q
    if t_k < t_q:
        raise ValueError("t_k must be at least t_q")
    distance = np.abs(np.arange(t_k) - (np.arange(t_q)[:, None] + t_k - t_q))
    return -alibi_slopes(n_heads)[:, None, None] * distance
