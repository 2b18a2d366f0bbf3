import numpy as np

def split_heads(x, n_heads):
    d_head, rest = divmod(x.shape[-1], n_heads)
    if rest:
        raise ValueError("n_heads")
    columns = np.arange(n_heads)[:, None, None] * d_head + np.arange(d_head)      # (H, 1, d_head)
    rows = np.arange(x.shape[-2])[:, None]                                        # (T, 1)
    return x[..., rows, columns]

def merge_heads(x):
    H, T, d = x.shape[-3:]
    f = np.arange(H * d)
    return x[..., f // d, np.arange(T)[:, None], f % d]

def dot_product(q, k, v, allowed):
    """q (..., H, T, d), k, v (..., H, S, d), allowed broadcastable to (..., H, T, S)"""
    s = (q[..., :, None, :] * k[..., None, :, :]).sum(-1) / np.sqrt(q.shape[-1])
    s = np.where(allowed, s, -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(top == -np.inf, 0, top))
    total = e.sum(-1, keepdims=True)
    w = e / np.where(total == 0, 1, total)
    return (w[..., None] * v[..., None, :, :]).sum(-2)

def multi_head_attention(x, params, n_heads, mask=None):
    T = x.shape[-2]
    allowed = np.broadcast_to(np.array(True) if mask is None else mask, x.shape[:-1] + (T,))
    q, k, v = (split_heads(x @ params["w_" + c] + params["b_" + c], n_heads) for c in "qkv")
    return merge_heads(dot_product(q, k, v, allowed[..., None, :, :])) @ params["w_o"] + params["b_o"]
