import numpy as np
def softmax5(a):
    m = np.max(a, axis=-1, keepdims=True)
    m = np.where(m == -np.inf, 0.0, m)
    e = np.exp(a - m)
    s = e.sum(axis=-1, keepdims=True)
    return e / np.where(s == 0, 1.0, s)
def split_heads(x, n_heads):
    if x.shape[-1] % n_heads != 0: raise ValueError("n_heads")
    return x.reshape(x.shape[:-1] + (n_heads, x.shape[-1] // n_heads)).swapaxes(-2, -3)
def merge_heads(x):
    x = x.swapaxes(-2, -3)
    return x.reshape(x.shape[:-2] + (x.shape[-2] * x.shape[-1],))
def multi_head_attention(x, params, n_heads, mask=None):
    q = split_heads(x @ params["w_q"] + params["b_q"], n_heads)
    k = split_heads(x @ params["w_k"] + params["b_k"], n_heads)
    v = split_heads(x @ params["w_v"] + params["b_v"], n_heads)
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        mask = np.asarray(mask)
        while mask.ndim < 2: mask = mask[None]
        scores = np.where(mask[..., None, :, :], scores, -np.inf)
    return merge_heads(softmax5(scores) @ v) @ params["w_o"] + params["b_o"]
