from __future__ import annotations
import numpy as np
from numpy.typing import NDArray


def softmax(scores: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
    peak: NDArray[np.floating] = np.nan_to_num(scores.max(axis=axis, keepdims=True), neginf=0.0)
    mass: NDArray[np.floating] = np.exp(scores - peak)
    total: NDArray[np.floating] = mass.sum(axis=axis, keepdims=True)
    return np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)
