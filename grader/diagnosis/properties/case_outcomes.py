"""Describe the outcome of one case; statements about wrong results are based on these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.checks.compare import Broken, as_array, matches
from grader.checks.tolerances import EXACT, FLOAT32, Tolerance
from grader.isolation.client import Raised


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


def differ(one: Any, other: Any) -> bool:
    """Return whether two results differ by more than rounding."""
    first, second = as_array(one), as_array(other)
    if first is None or second is None or first.shape != second.shape:
        return (first is None) != (second is None)
    return not np.allclose(first.astype(float), second.astype(float), equal_nan=True)


def distinct(tried: Sequence[Tried]) -> list[Tried]:
    """Return every result of every question once."""
    return list({(one.part, one.key): one for one in tried}.values())


def whole(tried: Sequence[Tried]) -> list[Tried]:
    """Yield every question once; it is right if all of its results are."""
    found: dict[str, Tried] = {}
    for one in tried:
        if one.key not in found or not one.right:
            found[one.key] = one
    return list(found.values())
