import math

import numpy as np

from exercises.step18_decoder_gradient import decoder_loss_and_gradients


def tree_map(f, tree, *rest):
    if isinstance(tree, dict):
        return {key: tree_map(f, tree[key], *(r[key] for r in rest)) for key in tree}
    if isinstance(tree, (list, tuple)):
        return [tree_map(f, *items) for items in zip(tree, *rest)]
    return f(tree, *rest)


def leaves(tree):
    if isinstance(tree, dict):
        return [leaf for key in tree for leaf in leaves(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]


def clip_gradients(grads, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm must be positive")
    norm = float(np.sqrt(sum(float(np.sum(np.square(g, dtype=np.float64))) for g in leaves(grads))))
    if norm <= max_norm:
        return grads, norm
    return tree_map(lambda g: g * (max_norm / norm), grads), norm


def new_adamw(params):
    return {"t": 0, "m": tree_map(np.zeros_like, params), "v": tree_map(np.zeros_like, params)}


def adamw_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    b1, b2 = betas
    t = max(state["t"], 1)
    m = tree_map(lambda a, g: b1 * a + (1 - b1) * g, state["m"], grads)
    v = tree_map(lambda a, g: b2 * a + (1 - b2) * g**2, state["v"], grads)
    new = tree_map(lambda p, a, b: p * (1 - lr * weight_decay) - lr * (a / (1 - b1**t)) / (np.sqrt(b / (1 - b2**t)) + eps), params, m, v)
    return new, {"t": state["t"] + 1, "m": m, "v": v}


def learning_rate(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup exceeds total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step < total:
        return floor + (peak - floor) * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))) / 2
    return floor


def sample_batch(stream, length, starts):
    stream, starts = np.asarray(stream), np.asarray(starts)
    if np.any(starts < 0) or np.any(starts + length + 1 > len(stream)):
        raise ValueError("a window does not fit")
    return stream[starts[:, None] + np.arange(length + 1)]


def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    grads, _ = clip_gradients(grads, max_norm)
    params, state = adamw_step(params, grads, state, lr)
    return loss, params, state
