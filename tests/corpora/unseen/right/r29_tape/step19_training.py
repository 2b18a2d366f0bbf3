import math
from typing import NamedTuple

import numpy as np

from exercises.step18_decoder_gradient import decoder_loss_and_gradients
from exercises.tape import tree


def _leaves(t):
    found = []
    tree(found.append, t)
    return found


def _zip(f, first, *others):
    """Trees side by side, walked by key."""
    if isinstance(first, dict):
        return {k: _zip(f, first[k], *(o[k] for o in others)) for k in first}
    if isinstance(first, list):
        return [_zip(f, *items) for items in zip(first, *others)]
    return f(first, *others)


class Moments(NamedTuple):
    t: int
    m: object
    v: object


def clip_gradients(grads, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm")
    norm = math.hypot(*(math.hypot(*np.ravel(g).tolist()) for g in _leaves(grads)))
    if norm <= max_norm:
        return grads, norm
    return tree(lambda g: np.asarray(g * (max_norm / norm)), grads), norm


def new_adamw(params):
    zeros = lambda a: np.zeros(a.shape)
    return Moments(0, tree(zeros, params), tree(zeros, params))


def adamw_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    (b1, b2), t = betas, state.t + 1
    m = _zip(lambda m, g: b1 * m + (1 - b1) * g, state.m, grads)
    v = _zip(lambda v, g: b2 * v + (1 - b2) * np.square(g, dtype=float), state.v, grads)
    c1, c2 = 1 - b1 ** t, 1 - b2 ** t
    new = _zip(lambda p, m, v: np.asarray((1 - lr * weight_decay) * p - lr * (m / c1) / (np.sqrt(v / c2) + eps)), params, m, v)
    return new, Moments(t, m, v)


def learning_rate(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup")
    if step < warmup:
        return float(peak * (step + 1) / warmup)
    if step >= total:
        return float(floor)
    return float(floor + (peak - floor) * math.cos(math.pi / 2 * (step - warmup) / (total - warmup)) ** 2)


def sample_batch(stream, length, starts):
    starts = np.asarray(starts, dtype=np.intp)
    if np.any((starts < 0) | (starts + length >= len(stream))):
        raise ValueError("starts")
    return np.take(stream, np.add.outer(starts, np.arange(length + 1)))


def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    grads, _ = clip_gradients(grads, max_norm)
    return (loss, *adamw_step(params, grads, state, lr))
