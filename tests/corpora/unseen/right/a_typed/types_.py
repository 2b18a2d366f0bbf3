from __future__ import annotations

from typing import Any, Final, Protocol, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Ints: TypeAlias = npt.NDArray[np.integer[Any]]
Bools: TypeAlias = npt.NDArray[np.bool_]

NEG_INF: Final[float] = -np.inf


class NormParams(TypedDict):
    gain: Floats
    bias: Floats


class BlockParams(TypedDict):
    ln_1: NormParams
    ln_2: NormParams
    attention: dict[str, Floats]
    feed_forward: dict[str, Floats]


class DecoderParams(TypedDict):
    embedding: Floats
    position: Floats
    blocks: list[BlockParams]
    ln_f: NormParams


class Attend(Protocol):
    def __call__(self, q: Floats, k: Floats, v: Floats) -> Floats: ...
