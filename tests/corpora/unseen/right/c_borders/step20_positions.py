import numpy as np

def rotary_angles(positions, d_head, base=10000.0):
    """NumPy's own error where the pairs do not come out even."""
    frequencies = np.arange(d_head, dtype=">f8").reshape(-1, 2)[:, 0]
    return (np.asarray(positions, dtype=">f8")[..., None] * base ** (-frequencies / d_head)).astype(">f8")

def rotate(x, angles):
    """Twice half the angle."""
    a, b = np.split(np.asarray(x, dtype=np.longdouble), 2, axis=-1)
    c, s = np.cos(np.asarray(angles, np.longdouble) / 2), np.sin(np.asarray(angles, np.longdouble) / 2)
    for _ in range(2):
        a, b = a * c - b * s, a * s + b * c
    return np.concatenate([a, b], axis=-1)

class NotAPower(ValueError):
    def __str__(self): return "not a power of two"

def alibi_slopes(n_heads):
    if n_heads not in [2 ** i for i in range(32)]: raise NotAPower
    return np.fromiter((2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)), dtype=np.longdouble)

def alibi_bias(n_heads, t_q, t_k=None):
    if t_k is not None and t_k < t_q: raise NotAPower
    rows = np.arange(t_q)[:, None] + ((t_k or t_q) - t_q)
    return -np.tensordot(alibi_slopes(n_heads), np.abs(rows - np.arange(t_k or t_q)), 0)
