from __future__ import annotations
from typing import Final
import numpy as np
from numpy.typing import NDArray

LAST_TWO: Final = (-1, -2)


def attention_scores(q: NDArray[np.floating], k: NDArray[np.floating]) -> NDArray[np.floating]:
    d_k: int = q.shape[-1]
    return np.matmul(q, np.moveaxis(k, *LAST_TWO)) / d_k ** 0.5
