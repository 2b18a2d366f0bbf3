from numpy import *
def rotary_angles(positions, d_head, base=10000.0):
    if d_head % 2: raise ValueError
    return multiply.outer(positions, exp(-log(base) * arange(0, d_head, 2) / d_head))
def rotate(x, angles):
    z = (x[..., :x.shape[-1] // 2] + 1j * x[..., x.shape[-1] // 2:]) * exp(1j * angles)
    return concatenate((z.real, z.imag), -1)
def alibi_slopes(n_heads):
    if n_heads < 1 or n_heads & n_heads - 1: raise ValueError
    return exp2(-8 / n_heads * arange(1, n_heads + 1))
def alibi_bias(n_heads, t_q, t_k=None):
    t_k = t_q if t_k is None else t_k
    if t_k < t_q: raise ValueError
    return multiply.outer(-alibi_slopes(n_heads), abs(subtract.outer(arange(t_k)[t_k - t_q:], arange(t_k))))
