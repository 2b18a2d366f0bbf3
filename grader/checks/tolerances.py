"""Define how far numbers may be from the right ones: float64, float32, large numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Tolerance:
    """How far apart two numbers may be and still count as equal."""

    rtol: float
    atol: float

    def at_least(self, other: "Tolerance") -> "Tolerance":
        """Return the wider of the two tolerances."""
        return Tolerance(max(self.rtol, other.rtol), max(self.atol, other.atol))

    def for_size(self, size: float) -> "Tolerance":
        """Return the tolerance for numbers that are computed together with others of that size."""
        return Tolerance(self.rtol, self.atol * max(1.0, size))

    def allowed(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return how far from these numbers another one may be."""
        allowed: NDArray[Any] = self.atol + self.rtol * np.abs(numbers)
        return allowed

    def widened(self, factor: float) -> "Tolerance":
        """Return a tolerance that is so many times as wide."""
        return Tolerance(self.rtol * factor, self.atol * factor)


NOTHING = Tolerance(0.0, 0.0)
EXACT = Tolerance(1e-9, 1e-10)  # float64
VERY_LARGE = 50.0  # numbers as they come out of a layer are smaller
ROUGH = 1e-4  # of the largest number: enough to distinguish an answer from none
NOISE = 1e-6  # of the largest of several results: the true gradient of b_k is 0
# After a step of AdamW, which divides rounding by 1e-8 where the true gradient is 0, as for b_k.
AFTER_ADAMW = Tolerance(1e-9, 1e-8)
FLOAT32 = Tolerance(1e-4, 1e-5)  # float32
FLOAT32_WIDE = Tolerance(1e-3, 1e-4)  # float32, in a comparison for likeness
# A score of a million is rounded by 1e-10, and a small result is the difference of larger ones.
LARGE = Tolerance(1e-6, 1e-8)
# After turns of a million radians: whole turns may be taken off with a 2π that is rounded.
FAR_TURNS = Tolerance(1e-8, 1e-8)
