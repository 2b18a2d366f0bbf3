import numpy as np
from exercises.step01_projections import project_qkv
from exercises.step05_output import attention

def split_heads(x, n_heads):
    T, d = x.shape[-2:]
    if d % n_heads > 0:
        raise ValueError("n_heads")
    return x.reshape(x.shape[:-1] + (n_heads, d // n_heads)).swapaxes(1, 2)

def merge_heads(x):
    y = x.swapaxes(-3, -2)
    return y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1])

def multi_head_attention(x, params, n_heads, mask=None):
    q, k, v = project_qkv(x, params["w_q"], params["w_k"], params["w_v"])
    q, k, v = (split_heads(z + params[b], n_heads) for z, b in ((q, "b_q"), (k, "b_k"), (v, "b_v")))
    if mask is not None:
        mask = np.expand_dims(np.broadcast_to(mask, x.shape[:-1] + (x.shape[-2],)), -3)
    return np.dot(merge_heads(attention(q, k, v, mask)), params["w_o"]) + params["b_o"]
