import numpy as np

def linear(x, weight, bias=None):
    y = np.asfortranarray(x @ weight)
    return y if bias is None else np.asfortranarray(y + bias)

def project_qkv(x, w_q, w_k, w_v):
    # three windows on one array
    d = w_q.shape[1]
    qkv = x @ np.concatenate([w_q, w_k, w_v], axis=1)
    return qkv[..., :d], qkv[..., d:2 * d], qkv[..., 2 * d:]
