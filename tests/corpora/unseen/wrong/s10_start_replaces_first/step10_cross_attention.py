import numpy as np

def shift_right(tokens, start_id):
    new = np.array(tokens).astype("int64")
    new[..., 0] = start_id
    return new

def cross_attention(x, memory, params, n_heads, memory_mask=None):
    d = x.shape[-1]
    T, S, dh = x.shape[-2], memory.shape[-2], d // n_heads
    if dh * n_heads != d:
        raise ValueError("n_heads")
    q = (x @ params["w_q"] + params["b_q"]).reshape(x.shape[:-2] + (T, n_heads, dh))
    k = (memory @ params["w_k"] + params["b_k"]).reshape(memory.shape[:-2] + (S, n_heads, dh))
    v = (memory @ params["w_v"] + params["b_v"]).reshape(memory.shape[:-2] + (S, n_heads, dh))
    q, k, v = np.moveaxis(q, -2, -3), np.moveaxis(k, -2, -3), np.moveaxis(v, -2, -3)
    scores = np.matmul(q, np.moveaxis(k, -1, -2)) / dh ** 0.5
    if memory_mask is not None:
        seen = np.broadcast_to(memory_mask, x.shape[:-2] + (T, S))
        scores = np.where(np.expand_dims(seen, -3), scores, -np.inf)
    best = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(best), best, 0))
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    y = np.moveaxis(weights @ v, -3, -2)
    return y.reshape(x.shape) @ params["w_o"] + params["b_o"]
