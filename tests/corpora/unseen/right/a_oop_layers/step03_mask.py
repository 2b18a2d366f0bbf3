import abc
import numpy as np
from exercises.nn import Module


class Mask(abc.ABC):
    @abc.abstractmethod
    def build(self):
        ...

    def __and__(self, other):
        return Both(self, other)


class Both(Mask):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def build(self):
        return self.a.build() & self.b.build()


class Causal(Mask):
    def __init__(self, t_q, t_k=None):
        self.t_q = t_q
        self.t_k = t_q if t_k is None else t_k
        if self.t_k < self.t_q:
            raise ValueError("t_k < t_q")

    @property
    def offset(self):
        return self.t_k - self.t_q

    def build(self):
        return np.tri(self.t_q, self.t_k, self.offset, dtype=bool)


class Padding(Mask):
    def __init__(self, tokens, pad_id):
        self.tokens, self.pad_id = tokens, pad_id

    def build(self):
        return np.expand_dims(self.tokens != self.pad_id, -2)


class Given(Mask):
    def __init__(self, array):
        self.array = array

    def build(self):
        return self.array


class Masker(Module):
    def forward(self, scores, mask):
        mask = mask.build() if isinstance(mask, Mask) else mask
        return np.where(mask, scores, -np.inf)


class _Build(Module):
    def __init__(self, cls):
        self.cls = cls

    def forward(self, *args, **kwargs):
        return self.cls(*args, **kwargs).build()


causal_mask = _Build(Causal)
padding_mask = _Build(Padding)
apply_mask = Masker()


def additive_mask(mask):
    return apply_mask(np.zeros(np.shape(mask)), mask)
