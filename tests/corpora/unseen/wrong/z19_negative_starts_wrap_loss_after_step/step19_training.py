import math

import numpy as np

from exercises.step18_decoder_gradient import decoder_loss, decoder_loss_and_gradients


def tree_map(f, tree, *rest):
    if isinstance(tree, dict):
        return {key: tree_map(f, tree[key], *[r[key] for r in rest]) for key in tree}
    if isinstance(tree, (list, tuple)):
        return [tree_map(f, item, *[r[i] for r in rest]) for i, item in enumerate(tree)]
    return f(tree, *rest)


def leaves(tree):
    if isinstance(tree, dict):
        for key in tree:
            yield from leaves(tree[key])
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from leaves(item)
    else:
        yield tree


def clip_gradients(grads, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm must be positive")
    norm = math.sqrt(sum(float((np.asarray(g, dtype=np.float64) ** 2).sum()) for g in leaves(grads)))
    if norm <= max_norm:
        return grads, norm
    return tree_map(lambda g: g * (max_norm / norm), grads), norm


def new_adamw(params):
    return {"m": tree_map(np.zeros_like, params), "v": tree_map(np.zeros_like, params), "t": 0}


def adamw_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    b1, b2 = betas
    t = state["t"] + 1
    m = tree_map(lambda m, g: b1 * m + (1 - b1) * g, state["m"], grads)
    v = tree_map(lambda v, g: b2 * v + (1 - b2) * g * g, state["v"], grads)

    def update(p, m, v):
        m_hat = m / (1 - b1 ** t)
        v_hat = v / (1 - b2 ** t)
        return (1 - lr * weight_decay) * p - lr * m_hat / (np.sqrt(v_hat) + eps)

    return tree_map(update, params, m, v), {"m": m, "v": v, "t": t}


def learning_rate(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup must not exceed total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step < total:
        return floor + (peak - floor) * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))) / 2
    return floor


def sample_batch(stream, length, starts):
    stream = np.asarray(stream)
    starts = np.asarray(starts)
    if length + 1 > stream.size or np.any(starts + length + 1 > stream.size):
        raise ValueError("starts")
    windows = np.lib.stride_tricks.sliding_window_view(stream, length + 1)
    return windows[starts].copy()


def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    _, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    grads, _ = clip_gradients(grads, max_norm)
    params, state = adamw_step(params, grads, state, lr)
    return decoder_loss(tokens, params, n_heads), params, state
