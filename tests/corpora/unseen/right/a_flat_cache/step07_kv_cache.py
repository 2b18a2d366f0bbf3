import numpy as np
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention


def new_cache():
    return [None, 0, 0]         # keys and values side by side, d_k, length


def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    d_k = w_k.shape[1]
    kv = x_new @ np.concatenate((w_k, w_v), axis=1)
    table, _, n = cache
    t = n + kv.shape[-2]
    if table is None or t > table.shape[-2]:
        grown = np.zeros(kv.shape[:-2] + (t + t // 2 + 8, kv.shape[-1]), kv.dtype)
        if n:
            grown[..., :n, :] = table[..., :n, :]
        table = grown
    table[..., n:t, :] = kv
    keys, values = table[..., :t, :d_k], table[..., :t, d_k:]
    y = attention(x_new @ w_q, keys, values, causal_mask(t - n, t))
    return y, [table, d_k, t]
