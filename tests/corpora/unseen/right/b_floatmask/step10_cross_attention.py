import numpy as np

from exercises.step01_projections import linear
from exercises.step05_output import attention
from exercises.step09_heads import merge_heads, split_heads


def shift_right(tokens, start_id):
    rolled = np.roll(tokens, 1, axis=-1)
    first = (np.arange(tokens.shape[-1]) == 0).astype(int)
    return rolled * (1 - first) + start_id * first


def cross_attention(x, memory, params, n_heads, memory_mask=None):
    T, S = x.shape[-2], memory.shape[-2]
    m = np.ones(x.shape[:-2] + (T, S))
    if memory_mask is not None:
        m = m * np.asarray(memory_mask).astype(float)
    q = split_heads(linear(x, params["w_q"], params["b_q"]), n_heads)
    k = split_heads(linear(memory, params["w_k"], params["b_k"]), n_heads)
    v = split_heads(linear(memory, params["w_v"], params["b_v"]), n_heads)
    y = attention(q, k, v, m[..., None, :, :] == 1.0)
    return linear(merge_heads(y), params["w_o"], params["b_o"])
