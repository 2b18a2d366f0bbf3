import math
from functools import lru_cache
import numpy as np

@lru_cache
def _frequencies(d_head, base):
    """By repeated multiplication, in extended precision."""
    step = np.longdouble(base) ** (np.longdouble(-2) / d_head)
    out = [np.longdouble(1)]
    while len(out) < d_head // 2:
        out.append(out[-1] * step)
    return np.array(out[:d_head // 2], dtype=np.longdouble)

def rotary_angles(positions, d_head, base=10000.0):
    if d_head % 2 != 0:
        raise ValueError(f"d_head={d_head}")
    return (np.asarray(positions)[..., np.newaxis] * _frequencies(d_head, float(base))).astype(np.float64)

def rotate(x, angles):
    """Three shears: x, then y, then x again would lose digits near pi; so plane rotations as matrices."""
    half = x.shape[-1] // 2
    angles = np.broadcast_to(angles, np.broadcast_shapes(np.shape(angles), (half,)))
    eye = np.eye(half)
    c, s = np.cos(angles)[..., None] * eye, np.sin(angles)[..., None] * eye
    matrix = np.block([[c, -s], [s, c]]) if c.ndim == 2 else np.concatenate([np.concatenate([c, -s], -1), np.concatenate([s, c], -1)], -2)
    return np.einsum("...ij,...j->...i", matrix, x)

@lru_cache
def _slopes(n_heads):
    if n_heads < 1 or math.gcd(n_heads, 1 << 62) != n_heads:
        raise ValueError(f"n_heads={n_heads}")
    slopes = 0.5 ** (8.0 * np.arange(1, n_heads + 1) / n_heads)
    slopes.flags.writeable = False
    return slopes

def alibi_slopes(n_heads):
    return _slopes(n_heads)

@lru_cache
def _bias(n_heads, t_q, t_k):
    """A view of one row of distances: nothing of size t_q times t_k is made."""
    if t_k < t_q:
        raise ValueError("t_k")
    rows = -_slopes(n_heads)[:, None] * np.abs(np.arange(-(t_k - 1), t_q + t_k))
    # entry (i, j) has distance i + t_k - t_q - j
    middle = t_k - 1 + (t_k - t_q)
    h, one = rows.strides
    return np.lib.stride_tricks.as_strided(rows[:, middle:], (n_heads, t_q, t_k), (h, one, -one), writeable=False)

def alibi_bias(n_heads, t_q, t_k=None):
    return _bias(n_heads, t_q, t_q if t_k is None else t_k)
