"""Matrices as lists of lists, numbers as Python floats; NumPy only at the door."""
import math
import numpy as np

def per_sequence(n_axes):
    """Lift a function on lists to leading batch axes: each array has its own number of axes of its own."""
    def lift(f):
        def g(*arrays):
            lead = np.broadcast_shapes(*(np.shape(a)[:np.ndim(a) - n] for a, n in zip(arrays, n_axes)))
            arrays = [np.broadcast_to(a, lead + np.shape(a)[np.ndim(a) - n:]) for a, n in zip(arrays, n_axes)]
            results = [f(*(a[i].tolist() for a in arrays)) for i in np.ndindex(lead)]
            parts = [np.array([r[j] for r in results], dtype=float) for j in range(len(results[0]))]
            return tuple(p.reshape(lead + p.shape[1:]) for p in parts)
        return g
    return lift

def dot(a, b): return math.fsum(x * y for x, y in zip(a, b))
def mm(a, b):
    cols = list(zip(*b))
    return [[dot(row, col) for col in cols] for row in a]
def tr(a): return [list(r) for r in zip(*a)]

def weights(scores, allowed):
    """Softmax over the allowed of a row, and its log-sum-exp."""
    seen = [s for s, ok in zip(scores, allowed) if ok]
    if not seen:
        return [0.0] * len(scores), -math.inf
    top = max(seen)
    e = [math.exp(s - top) if ok else 0.0 for s, ok in zip(scores, allowed)]
    z = math.fsum(e)
    return [x / z for x in e], top + math.log(z)
