"""In place, on own copies. The moments are made when the first gradients come."""
import copy
import numpy as np
from exercises.step18_decoder_gradient import decoder_loss_and_gradients

def items(tree):
    return tree.items() if isinstance(tree, dict) else enumerate(tree)

def is_leaf(tree):
    return not isinstance(tree, (dict, list))

def copied(tree):
    if is_leaf(tree):
        return np.array(tree, order="C")
    return {k: copied(v) for k, v in tree.items()} if isinstance(tree, dict) else [copied(v) for v in tree]

def clip_gradients(grads, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm")
    squares = [0.0]
    def add(tree):
        for _, v in items(tree):
            if is_leaf(v): squares[0] += np.sum(np.square(v, dtype=np.float64))
            else: add(v)
    add(grads)
    norm = np.asarray(squares[0] ** 0.5)          # an array without axes
    if norm <= max_norm:
        return grads, norm
    clipped = copied(grads)
    def scale(tree):
        for _, v in items(tree):
            if is_leaf(v): v *= v.dtype.type(max_norm / norm)
            else: scale(v)
    scale(clipped)
    return clipped, norm

class Adam(dict):
    """path -> [m, v]; t is an attribute."""
    t = 0

def new_adamw(params):
    return Adam()

def adamw_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    state.t += 1
    params = copied(params)
    b1, b2 = betas
    def walk(p, g, path):
        for key, value in items(p):
            here = path + (key,)
            if not is_leaf(value):
                walk(value, g[key], here)
                continue
            if here not in state:
                state[here] = [np.zeros(value.shape), np.zeros(value.shape)]
            m, v = state[here]
            m *= b1
            m += (1 - b1) * g[key]
            v *= b2
            v += (1 - b2) * np.square(g[key], dtype=np.float64)
            new = value * (1 - lr * weight_decay) - (lr / (1 - b1 ** state.t)) * m / (np.sqrt(v) / np.sqrt(1 - b2 ** state.t) + eps)
            value[...] = new
    walk(params, grads, ())
    return params, state

def learning_rate(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup > total")
    steps = np.array([step], dtype=np.float64)
    ramp = peak * (steps + 1) / max(warmup, 1)
    done = (steps - warmup) / max(total - warmup, 1)
    rate = np.piecewise(done, [steps < warmup, (steps >= warmup) & (steps < total)], [lambda d: ramp, lambda d: floor + (peak - floor) * 0.5 * (1 + np.cos(np.pi * d)), floor])
    return rate[0]

def sample_batch(stream, length, starts):
    starts = np.asarray(starts, dtype=np.int64)
    out = np.empty((len(starts), length + 1), dtype=stream.dtype)
    for row, start in zip(out, starts):
        window = stream[start:start + length + 1] if start >= 0 else stream[:0]
        if len(window) != length + 1:
            raise ValueError("starts")
        row[:] = window
    return out

def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    params, state = adamw_step(params, clip_gradients(grads, max_norm)[0], state, lr)
    return loss, params, state
