"""Right versions of step 20 in unusual style."""

import cmath
import functools
import math

import numpy as np

from grader.answer_key.variants import fair


@fair("python_loops", "rotary_angles")
def angles_by_loops(positions, d_head, base=10000.0):
    """math.pow for each pair; rows by recursion."""
    if d_head % 2 == 1:
        raise ValueError("an even number, please")
    speeds = [math.pow(base, -2 * i / d_head) for i in range(d_head // 2)]
    if np.ndim(positions) > 1:
        return np.array([angles_by_loops(row, d_head, base) for row in positions])
    return np.array([[int(p) * speed for speed in speeds] for p in positions])


@fair("by_logarithm", "rotary_angles")
def angles_by_logarithm(positions, d_head, base=10000.0):
    """exp of a multiple of the logarithm, and einsum."""
    if d_head & 1:
        raise ValueError("d_head")
    speeds = np.exp(np.arange(d_head // 2) * (-2 * np.log(base) / d_head))
    return np.einsum("...t,i->...ti", np.asarray(positions, dtype=np.float64), speeds)


@fair("divided", "rotary_angles")
def angles_divided(positions, d_head, base=10000.0):
    """Positions divided by powers of the base, time and pairs swapped on the way."""
    half, odd = divmod(d_head, 2)
    if odd:
        raise ValueError
    wavelengths = np.power(float(base), np.linspace(0, 1, half, endpoint=False))
    columns = [np.asarray(positions) / wavelength for wavelength in wavelengths]
    return np.stack(columns, axis=-1)


@fair("longdouble", "rotary_angles")
def angles_longdouble(where, size, base=10000.0):
    """Extended precision and other names."""
    if size % 2:
        raise ValueError(size)
    speeds = np.longdouble(base) ** (-np.arange(0, size, 2, dtype=np.longdouble) / size)
    return np.multiply.outer(np.asarray(where), speeds)


@fair("complex", "rotate")
def rotate_complex(x, angles):
    """Each pair as a complex number, times exp(i·angle)."""
    half = x.shape[-1] // 2
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * np.asarray(angles))
    return np.concatenate([turned.real, turned.imag], axis=-1)


@fair("matrices", "rotate")
def rotate_matrices(x, angles):
    """A 2×2 matrix for every pair, applied by einsum."""
    angles = np.broadcast_to(angles, (*x.shape[:-1], x.shape[-1] // 2))
    cos, sin = np.cos(angles), np.sin(angles)
    matrices = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)
    pairs = np.stack(np.split(x, 2, axis=-1), axis=-1)
    turned = np.einsum("...ij,...j->...i", matrices, pairs)
    return np.swapaxes(turned, -1, -2).reshape(x.shape)


@fair("rotate_half", "rotate")
def rotate_half(x, angles):
    """x cos plus (−b, a) sin, as in transformers; angles doubled by tile."""
    tiles = (1,) * (np.ndim(angles) - 1) + (2,)
    double = np.tile(angles, tiles)
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return x * np.cos(double) + np.concatenate([-b, a], axis=-1) * np.sin(double)


@fair("loops", "rotate")
def rotate_loops(x, angles):
    """Pair by pair and position by position, with cmath."""
    half = x.shape[-1] // 2
    angles = np.broadcast_to(angles, (*x.shape[:-1], half))
    y = np.empty(x.shape)
    for place in np.ndindex(*x.shape[:-1]):
        for i in range(half):
            pair = complex(x[(*place, i)], x[(*place, i + half)])
            turned = pair * cmath.rect(1, angles[(*place, i)])
            y[(*place, i)], y[(*place, i + half)] = turned.real, turned.imag
    return y


@fair("two_turns", "rotate")
def rotate_by_shears(x, angles):
    """Three shears make a turn, away from half a turn; there a mirror helps."""
    half = x.shape[-1] // 2
    angles = np.mod(np.asarray(angles, dtype=np.float64) + np.pi, 2 * np.pi) - np.pi
    flip = np.where(np.abs(angles) > np.pi / 2, -1.0, 1.0)
    small = np.where(flip < 0, angles - np.sign(angles) * np.pi, angles)
    a, b = x[..., :half] * flip, x[..., half:] * flip
    a = a - b * np.tan(small / 2)
    b = b + a * np.sin(small)
    a = a - b * np.tan(small / 2)
    return np.asfortranarray(np.concatenate([a, b], axis=-1))


@fair("geometric", "alibi_slopes")
def slopes_geometric(n_heads):
    """Every slope is the one before it times the first."""
    if n_heads not in {2**i for i in range(12)}:
        raise ValueError("a power of two")
    first = 2 ** (-8 / n_heads)
    return np.array([first ** (h + 1) for h in range(n_heads)])


@fair("logspace", "alibi_slopes")
def slopes_logspace(n_heads):
    """np.logspace; bin() counts bits."""
    if n_heads <= 0 or bin(n_heads).count("1") > 1:
        raise ValueError(n_heads)
    return np.logspace(-8 / n_heads, -8, n_heads, base=2)


@fair("loops", "alibi_bias")
def bias_loops(n_heads, t_q, t_k=None):
    """An array of nested lists."""
    t_k = t_k if t_k is not None else t_q
    if t_q > t_k:
        raise ValueError("more queries than keys")
    past = t_k - t_q
    rows = [
        [[-slope * abs(past + i - j) for j in range(t_k)] for i in range(t_q)]
        for slope in alibi_slopes(n_heads)
    ]
    return np.array(rows)


@fair("subtract_outer", "alibi_bias")
def bias_subtract_outer(n_heads, t_q, t_k=None):
    """The square of all positions, of which the last rows are kept; einsum."""
    slopes, t_k = alibi_slopes(n_heads), t_q if t_k is None else t_k
    if not t_q <= t_k:
        raise ValueError
    every = np.subtract.outer(np.arange(t_k), np.arange(t_k))
    return np.einsum("h,qk->hqk", slopes, -np.abs(every[t_k - t_q :]).astype(float))


@functools.cache
def known_bias(n_heads, t_q, t_k):
    """Remembered, read-only."""
    bias = -np.abs(np.arange(t_k) - np.arange(t_k - t_q, t_k).reshape(-1, 1))
    bias = bias * np.reshape(alibi_slopes(n_heads), (n_heads, 1, 1))
    bias.flags.writeable = False
    return bias


@fair("cached", "alibi_bias")
def bias_cached(n_heads, t_q, t_k=None):
    """functools.cache; the same read-only array every time."""
    t_k = t_q if t_k is None else t_k
    if t_k < t_q:
        raise ValueError("t_k")
    return known_bias(n_heads, t_q, t_k)
