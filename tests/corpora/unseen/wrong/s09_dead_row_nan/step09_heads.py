import numpy as np

def split_heads(x, n_heads):
    if x.shape[-1] % n_heads != 0:
        raise ValueError("n_heads must divide d_model")
    return x.reshape(x.shape[:-1] + (n_heads, x.shape[-1] // n_heads)).swapaxes(-3, -2)

def merge_heads(x):
    x = x.swapaxes(-3, -2)
    return x.reshape(x.shape[:-2] + (x.shape[-2] * x.shape[-1],))

def multi_head_attention(x, params, n_heads, mask=None):
    T = x.shape[-2]
    q = split_heads(x @ params["w_q"] + params["b_q"], n_heads)
    k = split_heads(x @ params["w_k"] + params["b_k"], n_heads)
    v = split_heads(x @ params["w_v"] + params["b_v"], n_heads)
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        mask = np.broadcast_to(mask, x.shape[:-2] + (T, T))[..., None, :, :]
        scores = np.where(mask, scores, -np.inf)
    top = np.max(scores, axis=-1, keepdims=True)
    e = np.exp(scores - top)
    z = e.sum(axis=-1, keepdims=True)
    z[z == 0] = 1
    return merge_heads((e / z) @ v) @ params["w_o"] + params["b_o"]
