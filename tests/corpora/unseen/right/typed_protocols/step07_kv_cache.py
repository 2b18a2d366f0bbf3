from __future__ import annotations
from typing import Protocol, Self
import numpy as np
from numpy.typing import NDArray
from exercises.step01_projections import project_qkv
from exercises.step03_mask import causal_mask
from exercises.step05_output import attention

Float = NDArray[np.floating]


class Cache(Protocol):
    @property
    def keys(self) -> Float: ...
    @property
    def values(self) -> Float: ...
    def extended(self, k: Float, v: Float) -> Cache: ...


class Full:
    __slots__ = ("keys", "values")

    def __init__(self, keys: Float, values: Float) -> None:
        self.keys, self.values = keys, values

    def extended(self, k: Float, v: Float) -> Full:
        return Full(np.concatenate([self.keys, k], axis=-2), np.concatenate([self.values, v], axis=-2))


class Empty:
    def extended(self, k: Float, v: Float) -> Full:
        return Full(k, v)


def new_cache() -> Empty:
    return Empty()


def attend_with_cache(x_new: Float, cache: Cache, w_q: Float, w_k: Float, w_v: Float) -> tuple[Float, Cache]:
    q, k, v = project_qkv(x_new, w_q, w_k, w_v)
    cache = cache.extended(k, v)
    mask = causal_mask(q.shape[-2], cache.keys.shape[-2])
    return attention(q, cache.keys, cache.values, mask), cache
