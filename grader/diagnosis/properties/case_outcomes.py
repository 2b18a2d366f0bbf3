"""Describe the outcome of one case, and compare a wrong result with the right one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken, as_array, matches, same_kind, wrong_cells
from grader.checks.tolerances import EXACT, FLOAT32, FLOAT32_WIDE, Tolerance
from grader.isolation.client import Raised
from grader.steps.tree import pairs

MANY = 100_000  # elements; there is no need to look into larger arrays
NOTHING = 1e-9  # right of itself, as is the gradient of the keys' bias
LOOSE = Tolerance(1e-8, 1e-10)
ENOUGH = 1.95  # the weight of two arrays, of one that is not small, or of three single numbers
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tried:
    """One result of one case: the expected value and the actual one.

    part: the result's name, if the function has several. sizes may hold `chunk` (from 0), `start`
    and `stop` if a sequence was fed in chunks. single: float32 arguments. laid: arrays with another
    memory layout. key: names the case and its circumstances; the same question has the same key.
    check: the name of the check that has the case.
    """

    part: str
    arguments: Mapping[str, Any]
    sizes: Mapping[str, Any]
    expected: Any
    got: Any
    right: bool
    single: bool = False
    laid: bool = False
    error: Raised | None = None
    key: str = ""
    check: str = ""

    @property
    def tolerance(self) -> Tolerance:
        """Return how exact its results have to be."""
        return FLOAT32 if self.single else EXACT

    @property
    def telling(self) -> bool:
        """Return whether code that does nothing would be wrong here.

        It would not if the right ids are the given ones, or are all the same id. Wrong code is
        right there as well, so the case says nothing.
        """
        right = as_array(self.expected)
        if right is None or right.size < 2 or right.dtype.kind not in "iu":
            return True
        given = (as_array(value) for value in self.arguments.values())
        return bool((right != right.flat[0]).any()) and not any(
            one is not None and one.shape == right.shape and (one == right).all() for one in given
        )


@dataclass(frozen=True)
class Fact:
    """A fact about all wrong results, and an idea where to look."""

    id: str
    says: str
    hint: str


def agrees(expected: Any, got: Any, tolerance: Tolerance) -> bool:
    """Return whether a result is right."""
    try:
        matches(expected, got, tolerance)
    except Broken:
        return False
    return True


def distinct(tried: Sequence[Tried]) -> list[Tried]:
    """Return every result of every question once."""
    return list({(one.part, one.key): one for one in tried}.values())


def whole(tried: Sequence[Tried]) -> list[Tried]:
    """Return every question once; it is right if all of its results are."""
    found: dict[str, Tried] = {}
    for one in tried:
        if one.key not in found or not one.right:
            found[one.key] = one
    return list(found.values())


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
