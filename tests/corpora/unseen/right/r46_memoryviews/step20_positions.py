from fractions import Fraction
from functools import partial
from math import cos, pi, sin

import numpy as np

_turn = np.frompyfunc(lambda a, b, t: complex(a, b) * complex(cos(t), sin(t)), 3, 1)


def rotary_angles(positions, d_head, base=10000.0):
    if Fraction(d_head, 2).denominator != 1:
        raise ValueError("d_head")
    p = np.asarray(positions)
    out = np.empty(p.shape + (d_head // 2,))
    for i in range(d_head // 2):
        np.multiply(p, base ** float(Fraction(-2 * i, d_head)), out=out[..., i])
    return out


def rotate(x, angles):
    half = x.shape[-1] // 2
    z = np.asarray(_turn(x[..., :half], x[..., half:], angles), dtype=object).astype(complex)
    out = np.empty(z.shape[:-1] + (2, half))
    out[..., 0, :], out[..., 1, :] = z.real, z.imag
    return out.reshape(z.shape[:-1] + (2 * half,))


def alibi_slopes(n_heads):
    if n_heads < 1 or 1 << (n_heads.bit_length() - 1) != n_heads:
        raise ValueError("n_heads")
    return np.fromiter((2.0 ** float(Fraction(-8 * h, n_heads)) for h in range(1, n_heads + 1)), dtype=float, count=n_heads)


def alibi_bias(n_heads, t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    slopes = alibi_slopes(n_heads)
    if t_k < t_q:
        raise ValueError("t_k")
    distance = partial(np.fromfunction, lambda i, j: abs(i + (t_k - t_q) - j), (t_q, t_k))()
    return np.stack([-s * distance for s in slopes])
