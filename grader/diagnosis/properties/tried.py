"""What became of one case: the unit that statements about wrong results rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.checks.compare import as_array
from grader.isolation.client import Raised


@dataclass(frozen=True)
class Tried:
    """One result of one case: what it should have been, and what came.

    part: the result's name, where the function has several. sizes may hold `chunk` (from 0),
    `start` and `stop` where a text was fed in chunks. single: float32 arguments. laid: arrays that
    lie otherwise in memory. key: names case and circumstances, the same for the same question.
    check: the name of the check whose case it is.
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
    def telling(self) -> bool:
        """Whether code that does nothing would be wrong here.

        Not where the right ids are those that were given, or one id throughout: there wrong code
        is right as well, which says nothing about the case.
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
    """Something that can be said of all wrong results, and an idea of where to look."""

    id: str
    says: str
    hint: str


def differ(one: Any, other: Any) -> bool:
    """Whether two results are not the same, but for rounding."""
    first, second = as_array(one), as_array(other)
    if first is None or second is None or first.shape != second.shape:
        return (first is None) != (second is None)
    return not np.allclose(first.astype(float), second.astype(float), equal_nan=True)


def distinct(tried: Sequence[Tried]) -> list[Tried]:
    """Every result of every question once."""
    return list({(one.part, one.key): one for one in tried}.values())


def whole(tried: Sequence[Tried]) -> list[Tried]:
    """Every question once: right if all of its results are."""
    found: dict[str, Tried] = {}
    for one in tried:
        if one.key not in found or not one.right:
            found[one.key] = one
    return list(found.values())
