"""Gradients by float128 where there is one; the state a generator that waits for gradients."""
import math
import numpy as np
from exercises.step18_decoder_gradient import decoder_loss_and_gradients

def paths(tree, path=()):
    if isinstance(tree, dict):
        for k in tree: yield from paths(tree[k], path + (k,))
    elif isinstance(tree, list):
        for i, t in enumerate(tree): yield from paths(t, path + (i,))
    else:
        yield path, tree

def like(tree, values, path=()):
    if isinstance(tree, dict): return {k: like(t, values, path + (k,)) for k, t in tree.items()}
    if isinstance(tree, list): return [like(t, values, path + (i,)) for i, t in enumerate(tree)]
    return values[path]

def clip_gradients(grads, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm")
    flat = dict(paths(grads))
    norm = float(np.sqrt(sum((np.asarray(g, np.longdouble) ** 2).sum() for g in flat.values())))
    return like(grads, {p: g / max(1.0, norm / max_norm) for p, g in flat.items()}), norm

def optimiser():
    m, v, t = {}, {}, 0
    request = yield
    while True:
        params, grads, lr, (b1, b2), eps, decay = request
        t += 1
        out = {}
        for path, p in paths(params):
            g = grads[path]
            m[path] = b1 * m.get(path, 0.0) + (1 - b1) * g
            v[path] = b2 * v.get(path, 0.0) + (1 - b2) * g * g
            out[path] = (1 - lr * decay) * p - lr * (m[path] / (1 - b1 ** t)) / (np.sqrt(v[path] / (1 - b2 ** t)) + eps)
        request = yield out

def new_adamw(params):
    state = optimiser()
    state.send(None)
    return state

def adamw_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return like(params, state.send((params, dict(paths(grads)), lr, betas, eps, weight_decay))), state

def learning_rate(step, peak, warmup, total, floor=0.0):
    if warmup > total: raise ValueError("warmup")
    if step >= total: return float(floor)
    return peak * (step + 1) / warmup if step < warmup else (peak + floor) / 2 + (peak - floor) / 2 * math.cos(math.pi * (step - warmup) / (total - warmup))

def sample_batch(stream, length, starts):
    starts = np.array(starts)
    if ((starts < 0) | (starts + length + 1 > stream.size)).any(): raise ValueError("starts")
    return np.take(stream, np.add.outer(starts, np.arange(length + 1)))

def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    grads, _ = clip_gradients(grads, max_norm=max_norm)
    params, state = adamw_step(params, grads, state, lr=lr)
    return loss, params, state
