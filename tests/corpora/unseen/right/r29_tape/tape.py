"""A tape in a hundred lines: Var remembers how it was made, backward() walks back."""
import heapq
import itertools

import numpy as np

_count = itertools.count()


def _shrink(g, shape):
    extra = g.ndim - len(shape)
    g = g.sum(axis=tuple(range(extra))) if extra else g
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axis=axes, keepdims=True) if axes else g


class Var:
    __slots__ = ("value", "made_from", "serial")
    __array_priority__ = 1000
    __array_ufunc__ = None                     # ndarray ∘ Var asks Var

    def __init__(self, value, *made_from):
        self.value = np.asarray(value, dtype=np.float64)
        self.made_from, self.serial = made_from, next(_count)

    shape = property(lambda self: self.value.shape)

    def __add__(self, o):
        o = lift(o)
        return Var(self.value + o.value, (self, lambda g: g), (o, lambda g: g))

    def __mul__(self, o):
        o = lift(o)
        a, b = self.value, o.value
        return Var(a * b, (self, lambda g: g * b), (o, lambda g: g * a))

    def __truediv__(self, o):
        o = lift(o)
        a, b = self.value, o.value
        return Var(a / b, (self, lambda g: g / b), (o, lambda g: -g * a / b / b))

    def __neg__(self):
        return Var(-self.value, (self, np.negative))

    def __sub__(self, o):
        return self + (-lift(o))

    __radd__, __rmul__ = __add__, __mul__

    def __matmul__(self, o):
        o = lift(o)
        a, b = self.value, o.value
        return Var(a @ b, (self, lambda g: g @ b.mT), (o, lambda g: a.mT @ g))

    def __getitem__(self, ids):
        def back(g):
            z = np.zeros(self.shape)
            np.add.at(z, ids, g)
            return z
        return Var(self.value[ids], (self, back))

    def sum(self, axis=-1):
        shape = self.shape
        return Var(self.value.sum(axis, keepdims=True), (self, lambda g: np.broadcast_to(g, shape)))

    def mean(self):
        return self.sum() / self.shape[-1]

    def exp(self):
        y = np.exp(self.value)
        return Var(y, (self, lambda g: g * y))

    def log(self):
        x = self.value
        return Var(np.log(x), (self, lambda g: g / x))

    def tanh(self):
        y = np.tanh(self.value)
        return Var(y, (self, lambda g: g * (1 - y) * (1 + y)))

    def sqrt(self):
        y = np.sqrt(self.value)
        return Var(y, (self, lambda g: g / (2 * y)))

    def reshape(self, *shape):
        old = self.shape
        return Var(self.value.reshape(shape), (self, lambda g: g.reshape(old)))

    def swap(self, i, j):
        return Var(self.value.swapaxes(i, j), (self, lambda g: g.swapaxes(i, j)))

    def only(self, mask):
        return Var(np.where(mask, self.value, -np.inf), (self, lambda g: np.where(mask, g, 0.0)))


def lift(x):
    return x if isinstance(x, Var) else Var(x)


def softmax(s):
    top = s.value.max(-1, keepdims=True)
    e = (s - np.where(top == -np.inf, 0.0, top)).exp()
    z = e.sum()
    return e / (z + (z.value == 0))


def backward(y, seed, wrt):
    """Gradients of Σ y·seed with respect to each Var in wrt, newest Var first."""
    grads, todo, known = {y.serial: np.asarray(seed, np.float64)}, [(-y.serial, y)], {y.serial}
    while todo:
        _, v = heapq.heappop(todo)
        if v.made_from:
            g = grads.pop(v.serial)
            for parent, pull in v.made_from:
                part = _shrink(pull(g), parent.shape)
                key = parent.serial
                grads[key] = grads[key] + part if key in grads else part
                if key not in known:
                    known.add(key)
                    heapq.heappush(todo, (-key, parent))
    return [np.array(grads[w.serial]) if w.serial in grads else np.zeros(w.shape) for w in wrt]


def tree(f, t):
    match t:
        case dict():
            return {k: tree(f, v) for k, v in t.items()}
        case list():
            return [tree(f, v) for v in t]
    return f(t)


def tree_backward(y, seed, t):
    wrt = []
    tree(wrt.append, t)
    found = iter(backward(y, seed, wrt))
    return tree(lambda _: next(found), t)
