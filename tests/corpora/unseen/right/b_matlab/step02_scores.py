import numpy as np


def attention_scores(q, k):
    d_k = q.shape[-1]
    t_q = q.shape[-2]
    t_k = k.shape[-2]
    S = np.zeros(q.shape[:-2] + (t_q, t_k))
    for i in range(1, t_q + 1):
        for j in range(1, t_k + 1):
            S[..., i - 1, j - 1] = np.sum(q[..., i - 1, :] * k[..., j - 1, :], axis=-1)
    return S / np.sqrt(d_k)
