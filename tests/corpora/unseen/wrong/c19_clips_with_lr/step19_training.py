import math
import numpy as np
from exercises.step18_decoder_gradient import decoder_loss_and_gradients


def leaves(tree):
    if isinstance(tree, dict):
        for k in sorted(tree):
            yield from leaves(tree[k])
    elif isinstance(tree, (list, tuple)):
        for t in tree:
            yield from leaves(t)
    else:
        yield tree


def rebuild(tree, it):
    if isinstance(tree, dict):
        return {k: rebuild(tree[k], it) for k in sorted(tree)}
    if isinstance(tree, (list, tuple)):
        return [rebuild(t, it) for t in tree]
    return next(it)


def clip_gradients(grads, max_norm):
    if max_norm <= 0:
        raise ValueError("max_norm")
    norm = math.sqrt(sum(float(np.sum(np.square(g))) for g in leaves(grads)))
    if norm > max_norm:
        return rebuild(grads, iter([g * (max_norm / norm) for g in leaves(grads)])), norm
    return grads, norm


def new_adamw(params):
    return {"step": 0, "exp_avg": [np.zeros_like(p) for p in leaves(params)],
            "exp_avg_sq": [np.zeros_like(p) for p in leaves(params)]}


def adamw_step(params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    b1, b2 = betas
    t = state["step"] + 1
    ms, vs, ps = [], [], []
    for p, g, m, v in zip(leaves(params), leaves(grads), state["exp_avg"], state["exp_avg_sq"]):
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        denom = np.sqrt(v) / math.sqrt(1 - b2**t) + eps
        ps.append(p * (1 - lr * weight_decay) - lr / (1 - b1**t) * m / denom)
        ms.append(m)
        vs.append(v)
    return rebuild(params, iter(ps)), {"step": t, "exp_avg": ms, "exp_avg_sq": vs}


def learning_rate(step, peak, warmup, total, floor=0.0):
    # nanoGPT get_lr
    if warmup > total:
        raise ValueError("warmup > total")
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    decay_ratio = (step - warmup) / (total - warmup)
    coeff = 0.5 * (1.0 + math.cos(math.pi * decay_ratio))
    return floor + coeff * (peak - floor)


def sample_batch(stream, length, starts):
    starts = np.asarray(starts)
    if np.any(starts < 0) or np.any(starts + length + 1 > len(stream)):
        raise ValueError("window does not fit")
    return stream[starts[:, None] + np.arange(length + 1)[None, :]]


def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = decoder_loss_and_gradients(tokens, params, n_heads)
    grads, _ = clip_gradients(grads, lr)
    params, state = adamw_step(params, grads, state, lr)
    return loss, params, state
