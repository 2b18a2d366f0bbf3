from __future__ import annotations

from dataclasses import dataclass, field, replace
import numpy as np


@dataclass(frozen=True)
class Affine:
    weight: np.ndarray
    bias: np.ndarray

    def __rmatmul__(self, x):
        return np.matmul(x, self.weight) + self.bias

    __array_ufunc__ = None          # so that x @ affine comes here


@dataclass(frozen=True)
class Norm:
    gain: np.ndarray
    bias: np.ndarray
    eps: float = 1e-5

    def __call__(self, x):
        mean = np.add.reduce(x, axis=-1, keepdims=True) / x.shape[-1]
        delta = x - mean
        std = np.sqrt(np.add.reduce(delta * delta, axis=-1, keepdims=True) / x.shape[-1] + self.eps)
        return self.gain * delta / std + self.bias


@dataclass(frozen=True)
class Mlp:
    inner: Affine
    outer: Affine

    @classmethod
    def from_params(cls, p):
        return cls(Affine(p["w_in"], p["b_in"]), Affine(p["w_out"], p["b_out"]))

    @staticmethod
    def gelu(x):
        return x * 0.5 * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))

    def __call__(self, x):
        return self.gelu(x @ self.inner) @ self.outer


@dataclass(frozen=True)
class Past:
    k: np.ndarray | None = None
    v: np.ndarray | None = None

    def then(self, k, v):
        if self.k is None:
            return Past(k, v)
        return replace(self, k=np.concatenate([self.k, k], axis=-2), v=np.concatenate([self.v, v], axis=-2))


@dataclass(frozen=True)
class Heads:
    q: Affine
    k: Affine
    v: Affine
    o: Affine
    n: int

    @classmethod
    def from_params(cls, p, n_heads):
        return cls(*(Affine(p["w_" + c], p["b_" + c]) for c in "qkvo"), n_heads)

    def split(self, x):
        if x.shape[-1] % self.n:
            raise ValueError("n_heads")
        return np.swapaxes(x.reshape(x.shape[:-1] + (self.n, x.shape[-1] // self.n)), -2, -3)

    def __call__(self, x, mask, past=Past()):
        q = self.split(x @ self.q)
        past = past.then(self.split(x @ self.k), self.split(x @ self.v))
        s = np.matmul(q, np.swapaxes(past.k, -1, -2)) / np.sqrt(q.shape[-1])
        if mask is not None:
            s = np.where(np.atleast_2d(mask)[..., None, :, :], s, -np.inf)
        top = s.max(axis=-1, keepdims=True)
        e = np.exp(s - np.where(top == -np.inf, 0.0, top))
        z = e.sum(axis=-1, keepdims=True)
        y = np.swapaxes(np.matmul(e / np.where(z == 0, 1.0, z), past.v), -2, -3)
        return y.reshape(y.shape[:-2] + (-1,)) @ self.o, past


@dataclass(frozen=True)
class Block:
    ln_1: Norm
    heads: Heads
    ln_2: Norm
    mlp: Mlp

    @classmethod
    def from_params(cls, p, n_heads):
        return cls(Norm(**p["ln_1"]), Heads.from_params(p["attention"], n_heads), Norm(**p["ln_2"]), Mlp.from_params(p["feed_forward"]))

    def __call__(self, x, mask, past=Past()):
        a, past = self.heads(self.ln_1(x), mask, past)
        x = x + a
        return x + self.mlp(self.ln_2(x)), past


@dataclass(frozen=True)
class Cache:
    pasts: tuple[Past, ...]
    length: int = 0


@dataclass(frozen=True)
class Model:
    embedding: np.ndarray
    position: np.ndarray
    blocks: tuple[Block, ...] = field(repr=False)
    ln_f: Norm

    @classmethod
    def from_params(cls, p, n_heads):
        return cls(p["embedding"], p["position"], tuple(Block.from_params(b, n_heads) for b in p["blocks"]), Norm(**p["ln_f"]))

    def empty(self):
        return Cache((Past(),) * len(self.blocks))

    def __call__(self, tokens, cache=None, padding=None):
        cache = self.empty() if cache is None else cache
        a, b = cache.length, cache.length + tokens.shape[-1]
        if b > self.position.shape[0]:
            raise ValueError("tokens")
        mask = np.arange(b) <= np.arange(a, b)[:, None]
        if padding is not None:
            mask = mask & padding
        x = self.embedding[tokens] + self.position[a:b]
        pasts = []
        for block, past in zip(self.blocks, cache.pasts, strict=True):
            x, past = block(x, mask, past)
            pasts.append(past)
        return self.ln_f(x) @ self.embedding.T, Cache(tuple(pasts), b)
