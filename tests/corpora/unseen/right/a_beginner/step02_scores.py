import math
import numpy as np


def attention_scores(q, k):
    t_q = q.shape[-2]
    t_k = k.shape[-2]
    d = q.shape[-1]
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    q = np.broadcast_to(q, batch + q.shape[-2:])
    k = np.broadcast_to(k, batch + k.shape[-2:])
    result = np.zeros(q.shape[:-1] + (t_k,))
    for index in np.ndindex(*q.shape[:-2]):
        for i in range(t_q):
            row = np.zeros(t_k)
            for feature in range(d):
                row = row + q[index][i][feature] * k[index][:, feature]
            result[index + (i,)] = row / math.sqrt(d)
    return result
