import numpy as np


def attention_scores(q, k):
    batch = q.shape[:-2]
    q3 = q.reshape((-1,) + q.shape[-2:])
    k3 = k.reshape((-1,) + k.shape[-2:])
    out = np.empty((len(q3), q.shape[-2], k.shape[-2]), dtype=np.result_type(q, k))
    for b in range(len(q3)):
        out[b] = q3[b] @ k3[b].T / np.sqrt(q.shape[-1])
    return out.reshape(batch + out.shape[1:])
