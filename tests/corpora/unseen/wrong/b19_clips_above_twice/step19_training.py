import math
import numpy as np
from exercises.step18_decoder_gradient import decoder_loss_and_gradients

def tree_map(f, *trees):
    t = trees[0]
    if isinstance(t, dict):
        return {k: tree_map(f, *[u[k] for u in trees]) for k in t}
    if isinstance(t, list):
        return [tree_map(f, *us) for us in zip(*trees)]
    return f(*trees)

def leaves(t):
    if isinstance(t, dict):
        for k in t:
            yield from leaves(t[k])
    elif isinstance(t, list):
        for u in t:
            yield from leaves(u)
    else:
        yield t

def clip_gradients(grads, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm")
    norm = math.sqrt(sum(float(np.sum(np.asarray(g, dtype=np.float64) ** 2)) for g in leaves(grads)))
    if norm <= max_norm * 2:
        return grads, norm
    return tree_map(lambda g: g * (max_norm / norm), grads), norm

def new_adamw(params):
    return {"t": 0, "m": tree_map(np.zeros_like, params), "v": tree_map(np.zeros_like, params)}

def adamw_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    b1, b2 = betas
    t = state["t"] + 1
    m = tree_map(lambda m, g: b1 * m + (1 - b1) * g, state["m"], grads)
    v = tree_map(lambda v, g: b2 * v + (1 - b2) * g * g, state["v"], grads)
    def upd(p, m, v):
        mh = m / (1 - b1 ** t)
        vh = v / (1 - b2 ** t)
        return (1 - lr * weight_decay) * p - lr * mh / (np.sqrt(vh) + eps)
    return tree_map(upd, params, m, v), {"t": t, "m": m, "v": v}

def learning_rate(step, peak, warmup, total, floor=0.0):
    if warmup > total:
        raise ValueError("warmup > total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step < total:
        return floor + (peak - floor) * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))) / 2
    return floor

def sample_batch(stream, length, starts):
    rows = []
    for s in starts:
        if s < 0 or s + length + 1 > len(stream):
            raise ValueError("starts")
        rows.append(stream[s:s + length + 1])
    return np.stack(rows)

def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    grads, _ = clip_gradients(grads, max_norm)
    params, state = adamw_step(params, grads, state, lr)
    return loss, params, state
