import numpy as np
def causal(n, m):
    return np.arange(m)[None, :] <= (np.arange(n) + m - n)[:, None]
def sm(a):
    m = np.max(a, axis=-1, keepdims=True)
    m = np.where(m == -np.inf, 0.0, m)
    e = np.exp(a - m)
    s = e.sum(axis=-1, keepdims=True)
    return e / np.where(s == 0, 1.0, s)
def attention_output(weights, v):
    return weights @ v
def attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return attention_output(sm(scores), v)
def masked_self_attention(x, w_q, w_k, w_v, padding=None):
    q = x @ w_q
    k = x @ w_k
    v = x @ w_v
    mask = causal(x.shape[-2], x.shape[-2])
    if padding is not None:
        mask = mask & padding
    return attention(q, k, v, mask)
