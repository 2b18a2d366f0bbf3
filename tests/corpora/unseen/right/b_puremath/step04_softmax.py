import math


def _row(row):
    top = max(row)
    if top == -math.inf:
        return [0.0] * len(row)
    e = [math.exp(s - top) for s in row]
    z = math.fsum(e)
    return [x / z for x in e]


def _walk(x):
    return [_walk(y) for y in x] if isinstance(x[0], list) else _row(x)


def softmax(scores, axis=-1):
    import numpy

    return numpy.array(_walk(scores.swapaxes(axis, -1).tolist())).swapaxes(axis, -1)
