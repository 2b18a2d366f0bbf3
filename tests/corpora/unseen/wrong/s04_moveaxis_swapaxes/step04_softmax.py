from __future__ import annotations
import numpy as np
from numpy.typing import NDArray


def softmax(scores: NDArray[np.floating], axis: int = -1) -> NDArray[np.floating]:
    scores = np.moveaxis(scores, axis, -1)
    peak: NDArray[np.floating] = np.nan_to_num(scores.max(axis=-1, keepdims=True), neginf=0.0)
    mass: NDArray[np.floating] = np.exp(scores - peak)
    total: NDArray[np.floating] = mass.sum(axis=-1, keepdims=True)
    return np.swapaxes(np.divide(mass, total, out=np.zeros_like(mass), where=total > 0), axis, -1)
