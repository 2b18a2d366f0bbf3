"""What became of one case: the unit that statements about wrong results rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.client import Raised


@dataclass(frozen=True)
class Tried:
    """One result of one case: what it should have been, and what came.

    part: the result's name, where the function has several. sizes may hold `chunk` (from 0),
    `start` and `stop` where a text was fed in chunks. single: float32 arguments. laid: arrays that
    lie otherwise in memory. key: names case and circumstances, the same for the same question.
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


@dataclass(frozen=True)
class Fact:
    """Something that can be said of all wrong results, and an idea of where to look."""

    id: str
    says: str
    hint: str


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
