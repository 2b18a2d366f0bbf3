import numpy as np
from exercises.step01_projections import linear
from exercises.step03_mask import apply_mask
from exercises.step04_softmax import softmax


def shift_right(tokens, start_id):
    padded = np.pad(tokens, [(0, 0)] * (tokens.ndim - 1) + [(1, 0)], constant_values=start_id)
    return padded[..., :-1]


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    m = x.shape[-1]
    if m % n_heads:
        raise ValueError("n_heads")
    d = m // n_heads
    # group[h, f]: feature f belongs to head h
    group = np.equal.outer(np.arange(n_heads), np.arange(m) // d)
    q = linear(x, params["w_q"], params["b_q"])[..., None, :, :] * group[:, None, :]
    k = linear(memory, params["w_k"], params["b_k"])[..., None, :, :]
    v = linear(memory, params["w_v"], params["b_v"])[..., None, :, :] * group[:, None, :]
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(d)
    if memory_mask is not None:
        s = apply_mask(s, np.broadcast_to(memory_mask, x.shape[:-1] + memory.shape[-2:-1])[..., None, :, :])
    return linear((softmax(s) @ v).sum(axis=-3), params["w_o"], params["b_o"])
