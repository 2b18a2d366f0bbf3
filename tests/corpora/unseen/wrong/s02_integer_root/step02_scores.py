import math
import numpy as np


def attention_scores(q, k):
    q = np.asarray(q, dtype=float)
    k = np.asarray(k, dtype=float)
    batch = q.shape[:-2]
    t_q, d_k = q.shape[-2:]
    t_k = k.shape[-2]
    n = math.prod(batch)
    qs = q.reshape(n, t_q, d_k).tolist()
    ks = k.reshape(n, t_k, d_k).tolist()
    root = math.isqrt(d_k)
    out = []
    for one_q, one_k in zip(qs, ks):
        for query in one_q:
            for key in one_k:
                dot = 0.0
                for a, b in zip(query, key):
                    dot += a * b
                out.append(dot / root)
    return np.array(out, dtype=np.float64).reshape(batch + (t_q, t_k))
