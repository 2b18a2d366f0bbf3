import math
import numpy as np


def _softmax_list(row):
    biggest = max(row)
    if biggest == float("-inf"):
        return [0.0 for _ in row]
    exps = [math.exp(s - biggest) for s in row]
    total = sum(exps)
    return [e / total for e in exps]


def softmax(scores, axis=-1):
    moved = np.moveaxis(np.asarray(scores, dtype=float), axis, -1)
    shape = moved.shape
    rows = moved.reshape(math.prod(shape[:-1]), shape[-1]).tolist()
    out = [_softmax_list(r) for r in rows]
    return np.moveaxis(np.array(out, dtype=float).reshape(shape), -1, axis)
