# I do everything with Python lists. numpy only at the door.
import math
import numpy as np


def linear(x, weight, bias=None):
    x = np.asarray(x)
    w = np.asarray(weight, dtype=float)
    d_in, d_out = w.shape
    columns = w.T.tolist()
    offsets = [0.0] * d_out if bias is None else np.asarray(bias, dtype=float).tolist()
    n = math.prod(x.shape[:-1])
    rows = x.astype(float).reshape(n, d_in).tolist()
    out = []
    for row in rows:
        new = []
        for column, b in zip(columns, offsets):
            total = 0.0
            for a, c in zip(row, column):
                total += a * c
            new.append(total + b)
        out.append(new)
    return np.array(out, dtype=np.float64).reshape(x.shape[:-1] + (d_out,))


def project_qkv(x, w_q, w_k, w_v):
    q = linear(x, w_q)
    k = linear(x, w_k)
    v = linear(x, w_v)
    return q, k, v
