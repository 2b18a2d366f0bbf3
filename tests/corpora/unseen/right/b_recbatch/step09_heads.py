import numpy as np

from exercises.step05_output import attention


def split_heads(x, n_heads):
    if x.shape[-1] % n_heads:
        raise ValueError("n_heads")
    if x.ndim == 2:
        return np.stack(np.split(x, n_heads, axis=1))
    return np.stack([split_heads(y, n_heads) for y in x])


def merge_heads(x):
    return np.hstack(list(x)) if x.ndim == 3 else np.stack([merge_heads(y) for y in x])


def multi_head_attention(x, params, n_heads, mask=None):
    if x.ndim > 2:
        T = x.shape[-2]
        masks = [None] * len(x) if mask is None else np.broadcast_to(mask, x.shape[:-1] + (T,))
        return np.stack([multi_head_attention(y, params, n_heads, m) for y, m in zip(x, masks)])
    q, k, v = (split_heads(x @ params[f"w_{c}"] + params[f"b_{c}"], n_heads) for c in "qkv")
    heads = [attention(q[h], k[h], v[h], mask) for h in range(n_heads)]
    return merge_heads(np.stack(heads)) @ params["w_o"] + params["b_o"]
