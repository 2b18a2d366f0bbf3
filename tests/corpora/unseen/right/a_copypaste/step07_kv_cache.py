import numpy as np
def causal(n, m):
    return np.arange(m)[None, :] <= (np.arange(n) + m - n)[:, None]
def softmax3(scr):
    mxx = np.max(scr, axis=-1, keepdims=True)
    mxx = np.where(mxx == -np.inf, 0.0, mxx)
    e = np.exp(scr - mxx)
    return e / e.sum(axis=-1, keepdims=True)
def att(Q, K, V, m):
    scores = Q @ np.swapaxes(K, -1, -2) / np.sqrt(K.shape[-1])
    return softmax3(np.where(m, scores, -np.inf)) @ V
def new_cache():
    return {"K": None, "V": None}
def attend_with_cache(x_new, cache, w_q, w_k, w_v):
    Q = x_new @ w_q
    K = x_new @ w_k
    V = x_new @ w_v
    if cache["K"] is not None:
        K = np.concatenate([cache["K"], K], axis=-2)
        V = np.concatenate([cache["V"], V], axis=-2)
    return att(Q, K, V, causal(Q.shape[-2], K.shape[-2])), {"K": K, "V": V}
