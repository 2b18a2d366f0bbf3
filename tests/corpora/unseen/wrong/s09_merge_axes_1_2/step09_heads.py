import numpy as np
from exercises.step02_scores import attention_scores
from exercises.step03_mask import additive_mask
from exercises.step04_softmax import softmax

def split_heads(x, n_heads):
    if x.shape[-1] % n_heads:
        raise ValueError("n_heads")
    y = np.reshape(x, x.shape[:-1] + (n_heads, x.shape[-1] // n_heads))
    n = y.ndim
    return np.transpose(y, tuple(range(n - 3)) + (n - 2, n - 3, n - 1))

def merge_heads(x):
    y = x.swapaxes(1, 2) if x.ndim > 3 else x.swapaxes(0, 1)
    return np.reshape(y, y.shape[:-2] + (y.shape[-2] * y.shape[-1],))

def additive_attention(x, memory, params, n_heads, m):
    """m: float, 0 or -inf, (..., T, S)"""
    q = split_heads(np.add(np.matmul(x, params["w_q"]), params["b_q"]), n_heads)
    k = split_heads(np.add(np.matmul(memory, params["w_k"]), params["b_k"]), n_heads)
    v = split_heads(np.add(np.matmul(memory, params["w_v"]), params["b_v"]), n_heads)
    w = softmax(attention_scores(q, k) + m[..., None, :, :])       # a row of -inf gives zeros
    return np.add(np.matmul(merge_heads(np.matmul(w, v)), params["w_o"]), params["b_o"])

def multi_head_attention(x, params, n_heads, mask=None):
    m = np.zeros((x.shape[-2],) * 2)
    if mask is not None:
        m = m + additive_mask(np.asarray(mask))
    return additive_attention(x, x, params, n_heads, m)
