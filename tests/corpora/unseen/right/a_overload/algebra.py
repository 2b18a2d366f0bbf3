import numpy as np


class Tensor:
    """x >> (w, b): linear;  q ^ k: scores;  s | m: masked;  ~s: softmax"""

    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a.a if isinstance(a, Tensor) else a

    def __rshift__(self, weight_bias):
        w, b = weight_bias if isinstance(weight_bias, tuple) else (weight_bias, None)
        y = self.a @ w
        return Tensor(y if b is None else y + b)

    def __xor__(self, other):
        return Tensor(self.a @ np.swapaxes(other.a, -1, -2) / self.a.shape[-1] ** 0.5)

    def __or__(self, mask):
        return Tensor(np.where(np.asarray(mask), self.a, -np.inf))

    def __invert__(self):
        top = self.a.max(axis=-1, keepdims=True)
        e = np.exp(self.a - np.where(top == -np.inf, 0, top))
        z = e.sum(axis=-1, keepdims=True)
        return Tensor(e / np.where(z == 0, 1, z))

    def __mul__(self, other):
        return Tensor(self.a @ other.a)

    def __pos__(self):
        return self.a


class Mask(np.ndarray):
    """a boolean array that can be a view of any boolean array; // shifts the diagonal"""

    def __new__(cls, a):
        return np.asarray(a, dtype=bool).view(cls)

    @classmethod
    def lower(cls, t_q, t_k):
        return cls(np.tri(t_q, t_k)) // (t_k - t_q)

    def __floordiv__(self, k):
        return Mask(np.tri(*self.shape, k))

    @property
    def plain(self):
        return np.array(self, dtype=bool)
