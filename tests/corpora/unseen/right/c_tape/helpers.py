"""A small reverse-mode tape. Values are float64 inside."""
from __future__ import annotations
from typing import Callable, Sequence, Any
import numpy as np


def unbroadcast(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    while g.ndim > len(shape):
        g = g.sum(0)
    for axis, n in enumerate(shape):
        if n == 1 and g.shape[axis] != 1:
            g = g.sum(axis, keepdims=True)
    return g


class Tape:
    def __init__(self) -> None:
        self.records: list[tuple["Var", list[tuple["Var", Callable]]]] = []

    def var(self, value: Any) -> "Var":
        return Var(self, np.asarray(value, dtype=np.float64))

    def record(self, value: np.ndarray, *parents: tuple["Var", Callable]) -> "Var":
        out = Var(self, value)
        self.records.append((out, list(parents)))
        return out

    def backward(self, out: "Var", seed: Any) -> None:
        out.grad = out.grad + seed
        for node, parents in reversed(self.records):
            for parent, pull in parents:
                parent.grad = parent.grad + unbroadcast(pull(node.grad), parent.value.shape)


class Var:
    __array_priority__ = 1000

    def __init__(self, tape: Tape, value: np.ndarray) -> None:
        self.tape, self.value = tape, value
        self.grad: np.ndarray = np.zeros(value.shape)

    @property
    def shape(self): return self.value.shape

    def lift(self, other): return other if isinstance(other, Var) else Var(self.tape, np.asarray(other, float))

    def __add__(self, o):
        o = self.lift(o)
        return self.tape.record(self.value + o.value, (self, lambda g: g), (o, lambda g: g))
    __radd__ = __add__

    def __neg__(self): return self * -1.0
    def __sub__(self, o): return self + -self.lift(o)

    def __mul__(self, o):
        o = self.lift(o)
        return self.tape.record(self.value * o.value, (self, lambda g: g * o.value), (o, lambda g: g * self.value))
    __rmul__ = __mul__

    def __truediv__(self, o): return self * self.lift(o) ** -1

    def __pow__(self, p):
        return self.tape.record(self.value ** p, (self, lambda g: g * p * self.value ** (p - 1)))

    def __matmul__(self, o):
        o = self.lift(o)
        return self.tape.record(self.value @ o.value,
                                (self, lambda g: g @ o.value.swapaxes(-1, -2)),
                                (o, lambda g: self.value.swapaxes(-1, -2) @ g))

    def t(self): return self.tape.record(self.value.swapaxes(-1, -2), (self, lambda g: g.swapaxes(-1, -2)))

    def tanh(self):
        h = np.tanh(self.value)
        return self.tape.record(h, (self, lambda g: g * (1 - h * h)))

    def mean(self):
        n = self.value.shape[-1]
        return self.tape.record(self.value.mean(-1, keepdims=True), (self, lambda g: np.broadcast_to(g / n, self.value.shape)))

    def masked_softmax(self, mask):
        s = self.value if mask is None else np.where(mask, self.value, -np.inf)
        top = s.max(-1, keepdims=True)
        top = np.where(np.isneginf(top), 0, top)
        e = np.exp(s - top)
        z = e.sum(-1, keepdims=True)
        p = np.divide(e, z, out=np.zeros_like(e), where=z > 0)
        return self.tape.record(p, (self, lambda g: p * (g - (g * p).sum(-1, keepdims=True))))

    def take(self, rows):
        def pull(g):
            table = np.zeros_like(self.value)
            np.add.at(table, rows, g)
            return table
        return self.tape.record(self.value[rows], (self, pull))

    def heads(self, n):
        *b, t, d = self.value.shape
        v = self.value.reshape(*b, t, n, d // n).swapaxes(-2, -3)
        return self.tape.record(v, (self, lambda g: g.swapaxes(-2, -3).reshape(self.value.shape)))

    def unheads(self):
        *b, n, t, d = self.value.shape
        v = self.value.swapaxes(-2, -3).reshape(*b, t, n * d)
        return self.tape.record(v, (self, lambda g: g.reshape(*b, t, n, d).swapaxes(-2, -3)))

    def nll(self, targets, keep):
        z = self.value - self.value.max(-1, keepdims=True)
        lp = z - np.log(np.exp(z).sum(-1, keepdims=True))
        onehot = np.zeros_like(lp)
        np.put_along_axis(onehot, np.where(keep, targets, 0)[..., None], 1.0, -1)
        onehot *= keep[..., None]
        n = keep.sum()
        return self.tape.record(-(onehot * lp).sum() / n,
                                (self, lambda g: g * (np.exp(lp) * keep[..., None] - onehot) / n))


def lift_tree(tape, tree):
    if isinstance(tree, dict): return {k: lift_tree(tape, v) for k, v in tree.items()}
    if isinstance(tree, list): return [lift_tree(tape, v) for v in tree]
    return tape.var(tree)


def grad_tree(tree):
    if isinstance(tree, dict): return {k: grad_tree(v) for k, v in tree.items()}
    if isinstance(tree, list): return [grad_tree(v) for v in tree]
    return tree.grad


# --- the model, on tape variables ---
def attend(q, k, v, mask): return ((q @ k.t()) * (q.shape[-1] ** -0.5)).masked_softmax(mask) @ v

def norm(x, p, eps=1e-5):
    c = x - x.mean()
    return c * ((c * c).mean() + eps) ** -0.5 * p["gain"] + p["bias"]

def gelu(x): return x * 0.5 * ((x + x * x * x * 0.044715) * (2 / np.pi) ** 0.5).tanh() + x * 0.5

def mlp(x, p): return gelu(x @ p["w_in"] + p["b_in"]) @ p["w_out"] + p["b_out"]

def mha(x, p, n, mask):
    if mask is not None:
        mask = np.asarray(mask)
        mask = np.expand_dims(mask.reshape((1,) * (2 - mask.ndim) + mask.shape), -3)
    q, k, v = ((x @ p[f"w_{c}"] + p[f"b_{c}"]).heads(n) for c in "qkv")
    return attend(q, k, v, mask).unheads() @ p["w_o"] + p["b_o"]

def block(x, p, n, mask):
    x = x + mha(norm(x, p["ln_1"]), p["attention"], n, mask)
    return x + mlp(norm(x, p["ln_2"]), p["feed_forward"])
