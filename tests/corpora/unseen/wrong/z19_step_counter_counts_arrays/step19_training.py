import math

import numpy as np

from exercises.step18_decoder_gradient import decoder_loss_and_gradients


def tree_map(f, tree, *rest):
    if isinstance(tree, dict):
        return {key: tree_map(f, tree[key], *(r[key] for r in rest)) for key in tree}
    if isinstance(tree, list):
        return [tree_map(f, *items) for items in zip(tree, *rest)]
    return f(tree, *rest)


def clip_gradients(grads, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm must be positive")
    squares = []
    tree_map(lambda g: squares.append(float(np.vdot(g, g))), grads)
    norm = math.sqrt(math.fsum(squares))
    if norm > max_norm:
        grads = tree_map(lambda g: g * (max_norm / norm), grads)
    return grads, norm


class AdamW:
    def __init__(self, params):
        self.t = 0
        self.m = tree_map(lambda p: np.zeros(p.shape, p.dtype), params)
        self.v = tree_map(lambda p: np.zeros(p.shape, p.dtype), params)

    def update_one(self, p, g, m, v):
        b1, b2 = self.betas
        self.t += 1
        m[...] = b1 * m + (1 - b1) * g
        v[...] = b2 * v + (1 - b2) * g ** 2
        m_hat = m / (1 - b1 ** self.t)
        v_hat = v / (1 - b2 ** self.t)
        return (1 - self.lr * self.decay) * p - self.lr * m_hat / (np.sqrt(v_hat) + self.eps)

    def step(self, params, grads, lr, betas, eps, decay):
        self.lr, self.betas, self.eps, self.decay = lr, betas, eps, decay
        return tree_map(self.update_one, params, grads, self.m, self.v)


def new_adamw(params):
    return AdamW(params)


def adamw_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    return state.step(params, grads, lr, betas, eps, weight_decay), state


def learning_rate(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup must not exceed total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    progress = (step - warmup) / (total - warmup)
    return floor + 0.5 * (peak - floor) * (1.0 + math.cos(math.pi * progress))


def sample_batch(stream, length, starts):
    stream = np.asarray(stream)
    for s in starts:
        if s < 0 or s + length + 1 > len(stream):
            raise ValueError("a window does not fit into the stream")
    return np.stack([stream[s:s + length + 1] for s in starts])


def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    grads, _ = clip_gradients(grads, max_norm)
    params, state = adamw_step(params, grads, state, lr)
    return loss, params, state
