import math
import numpy as np


def _row(row):
    top = max(row)
    if math.isinf(top) and top < 0:
        return [0.0] * len(row)
    e = [math.exp(x - top) for x in row]
    z = math.fsum(e)
    return [x / z for x in e]


def softmax(scores, axis=-1):
    s = np.swapaxes(scores, axis, -1)
    n = s.shape[-1]
    rows = [_row(r) for r in s.reshape(-1, n).tolist()]
    return np.swapaxes(np.array(rows, dtype=float).reshape(s.shape), axis, -1)
