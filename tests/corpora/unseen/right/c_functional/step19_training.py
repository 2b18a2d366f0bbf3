"""The optimiser's state is a function of the next gradients (a closure), as in a stream transducer."""
import math
from functools import reduce
import numpy as np
from exercises.step18_decoder_gradient import decoder_loss_and_gradients

def tree_map(f, tree, *rest):
    if isinstance(tree, dict):
        return {k: tree_map(f, v, *(r[k] for r in rest)) for k, v in tree.items()}
    if isinstance(tree, list):
        return [tree_map(f, *vs) for vs in zip(tree, *rest)]
    return f(tree, *rest)

def tree_fold(f, acc, tree):
    if isinstance(tree, (dict, list)):
        return reduce(lambda a, t: tree_fold(f, a, t), tree.values() if isinstance(tree, dict) else tree, acc)
    return f(acc, tree)

def clip_gradients(grads, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm")
    norm = tree_fold(lambda acc, g: math.hypot(acc, *g.ravel().tolist()), 0.0, grads)
    factor = min(1.0, max_norm / norm) if norm else 1.0
    return tree_map(lambda g: g * g.dtype.type(factor), grads), norm

def _state(t, m, v):
    def advance(grads, b1, b2):
        m2 = tree_map(lambda m, g: m + (1 - b1) * (g - m), m, grads)
        v2 = tree_map(lambda v, g: v + (1 - b2) * (np.square(g) - v), v, grads)
        c1, c2 = -math.expm1((t + 1) * math.log(b1)) if b1 else 1.0, -math.expm1((t + 1) * math.log(b2)) if b2 else 1.0
        return tree_map(lambda m: m / c1, m2), tree_map(lambda v: v / c2, v2), _state(t + 1, m2, v2)
    return advance

def new_adamw(params):
    zero = tree_map(lambda p: np.zeros(p.shape), params)
    return _state(0, zero, zero)

def adamw_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    m_hat, v_hat, state = state(grads, *betas)
    return tree_map(lambda p, m, v: (1 - lr * weight_decay) * p - lr * m / (v ** 0.5 + eps), params, m_hat, v_hat), state

def learning_rate(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup")
    ramp = lambda: peak * (step + 1) / warmup
    cosine = lambda: floor + (peak - floor) * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))) / 2
    return next(f() for ok, f in ((step < warmup, ramp), (step < total, cosine), (True, lambda: floor)) if ok)

def sample_batch(stream, length, starts):
    def window(s):
        if not 0 <= s < len(stream) - length:
            raise ValueError("starts")
        return np.take(stream, np.arange(s, s + length + 1))
    return np.vectorize(window, signature="()->(n)")(starts) if len(starts) else np.zeros((0, length + 1), int)

def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    return (loss,) + adamw_step(params, clip_gradients(grads, max_norm)[0], state, lr)
