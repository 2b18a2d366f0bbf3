"""Compare a wrong result with the right one, and judge what their likeness means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import as_array, same_kind, wrong_cells
from grader.checks.tolerances import FLOAT32_WIDE, Tolerance
from grader.diagnosis.properties.case_outcomes import Tried, distinct
from grader.steps.tree import pairs

MANY = 100_000  # elements; there is no need to look into larger arrays
NOTHING = 1e-9  # right of itself, as is the gradient of the keys' bias
LOOSE = Tolerance(1e-8, 1e-10)
ENOUGH = 1.95  # the weight of two arrays, of one that is not small, or of three single numbers
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """An expected and a returned array. kind and got_kind: NumPy's letters for their types."""

    expected: Floats
    got: Floats
    kind: str
    got_kind: str
    tried: Tried

    @cached_property
    def same_shape(self) -> bool:
        """Return whether the shape is right."""
        return self.expected.shape == self.got.shape

    @cached_property
    def wrong(self) -> NDArray[np.bool_]:
        """Return where numbers are wrong, if the shape is right."""
        return wrong_cells(self.expected, self.got, self.tried.tolerance)

    @property
    def discrete(self) -> bool:
        """Return whether these are ids or booleans, which may agree by chance."""
        return self.kind in "biu"

    @property
    def other_kind(self) -> bool:
        """Return whether the type is wrong, whatever the values are."""
        return not same_kind(self.kind, self.got_kind)

    @property
    def only_kind(self) -> bool:
        """Return whether every value is right."""
        return self.same_shape and not self.wrong.any()

    @property
    def weight(self) -> float:
        """Return how much a fact means here; a few numbers agree more easily by accident."""
        size = self.expected.size
        varied = any(size > 1 and each.min() < each.max() for each in (self.expected, self.got))
        if size >= (16 if self.discrete else 8) and varied:
            return 2.0
        return 1.0 if size > 1 else 0.5 if self.discrete else 0.7

    def alike(self, one: Floats, other: Floats) -> bool:
        """Return whether two arrays are the same except for rounding."""
        if one.shape != other.shape:
            return False
        tolerance = FLOAT32_WIDE if self.tried.single else LOOSE
        return not wrong_cells(np.asarray(one, float), np.asarray(other, float), tolerance).any()


def list_pairs(tried: Sequence[Tried]) -> list[Pair]:
    """Return the arrays of all wrong results that were returned, each with the right one.

    Return nothing if one of them is something else: no statement would be about all of them.
    """
    found = list[Pair]()
    for one in distinct([each for each in tried if not each.right and each.error is None]):
        for _, leaf, came in pairs(one.expected, one.got):
            expected, got = as_array(leaf), as_array(came)
            if expected is None or got is None or not 0 < max(expected.size, got.size) <= MANY:
                return []
            numbers = expected.astype(float), got.astype(float)
            if leaf is one.expected or np.abs(numbers[0]).max(initial=0) > NOTHING:
                found.append(Pair(*numbers, expected.dtype.kind, got.dtype.kind, one))
    return found


def enough(found: Sequence[Pair]) -> bool:
    """Return whether there are enough of them for a shared property to mean anything."""
    return sum(pair.weight for pair in found) >= ENOUGH
