import pickle
import numpy as np
import exercises.step18_decoder_gradient as step18

def visit(function, *trees):
    first = trees[0]
    if hasattr(first, "keys"):
        return dict((key, visit(function, *[tree[key] for tree in trees])) for key in sorted(first.keys()))
    if hasattr(first, "append"):
        return list(map(lambda *parts: visit(function, *parts), *trees))
    return function(*trees)

def clip_gradients(grads, max_norm):
    if max_norm <= 0: raise ValueError
    norms = []
    visit(lambda g: norms.append(np.linalg.norm(np.asarray(g, np.float64).reshape(-1))), grads)
    norm = np.linalg.norm(norms)
    scale = max_norm / max(norm, max_norm)
    return visit(lambda g: np.multiply(g, scale), grads), norm

class AdamW:
    """State as bytes: nothing can be shared."""
    @staticmethod
    def new(params): return pickle.dumps((0, visit(np.zeros_like, params), visit(np.zeros_like, params)))
    @classmethod
    def step(cls, params, grads, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        t, m, v = pickle.loads(state)
        t += 1
        m = visit(lambda m, g: m * betas[0] + g * (1 - betas[0]), m, grads)
        v = visit(lambda v, g: v * betas[1] + g * g * (1 - betas[1]), v, grads)
        def update(p, m, v):
            m_hat, v_hat = m / (1 - betas[0] ** t), v / (1 - betas[1] ** t)
            return p - lr * (m_hat / (np.sqrt(v_hat) + eps) + weight_decay * p)
        return visit(update, params, m, v), pickle.dumps((t, m, v))

new_adamw, adamw_step = AdamW.new, AdamW.step

def learning_rate(step, peak, warmup, total, floor=0.0):
    if warmup > total: raise ValueError
    table = [peak * (s + 1) / warmup for s in range(warmup)]
    table += [floor + (peak - floor) * (1 + np.cos(np.pi * s / (total - warmup))) / 2 for s in range(total - warmup)]
    return float(table[step]) if step < len(table) else float(floor)

def sample_batch(stream, length, starts):
    view = np.lib.stride_tricks.sliding_window_view(stream, length + 1) if len(stream) > length else np.empty((0, length + 1))
    if any(not 0 <= s < len(view) for s in starts): raise ValueError
    return view[np.asarray(starts, dtype=int)]

def train_step(tokens, params, state, n_heads, lr, max_norm=1.0):
    loss, grads = step18.decoder_loss_and_gradients(tokens, params, n_heads)
    clipped, norm = clip_gradients(grads, max_norm)
    new_params, new_state = adamw_step(params, clipped, state, lr)
    return loss, new_params, new_state
