import numpy as np


def rotary_angles(positions, d_head, base=10000.0):
    if d_head % 2:
        raise ValueError("d_head must be even")
    i = np.arange(d_head // 2, dtype=np.float64)
    return np.asarray(positions)[..., None] * base ** (-2.0 * i / d_head)


def rotate(x, angles):
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def alibi_slopes(n_heads):
    if n_heads < 1 or n_heads & (n_heads - 1):
        raise ValueError("n_heads must be a power of two")
    return 2.0 ** (-8.0 * np.arange(1, n_heads + 1) / n_heads)


def alibi_bias(n_heads, t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("more queries than keys")
    rel = np.subtract.outer(np.arange(t_q), np.arange(t_k))
    return np.multiply.outer(alibi_slopes(n_heads), -rel)
