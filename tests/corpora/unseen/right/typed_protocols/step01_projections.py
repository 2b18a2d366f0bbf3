from __future__ import annotations
from typing import NamedTuple, Protocol, TypeAlias
import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating]


class Projection(Protocol):
    def __call__(self, x: Array, weight: Array, bias: Array | None = None) -> Array: ...


class QKV(NamedTuple):
    q: Array
    k: Array
    v: Array


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    product: Array = x @ weight
    match bias:
        case None:
            return product
        case _:
            return product + bias


def project_qkv(x: Array, w_q: Array, w_k: Array, w_v: Array) -> QKV:
    p: Projection = linear
    return QKV(q=p(x, w_q), k=p(x, w_k), v=p(x, w_v))
