"""State the law of partial results: the order in which they are merged does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.checks.compare import Broken, as_array, describe, matches
from grader.checks.laws.cases import (
    Answered,
    Case,
    Function,
    comparing_answers,
    name_of,
    names_of,
    noting,
    values_are_right,
)
from grader.checks.tolerances import EXACT
from grader.steps.inputs import Arguments

Part = tuple[Any, Any]


def merges_in_any_order(function: Function, cases: Sequence[Case], others: Sequence[Case]) -> None:
    """Demand that (a, b), c equals a, (b, c), and that a, b equals b, a.

    c is the first set of the other case, which has the same shapes.
    """
    for case, other in zip(cases, others, strict=True):
        a, b = (_part(case, side) for side in "ab")
        c = _part(other, "a")
        first = _merge_parts(function, a, b)
        left = _merge_parts(function, first, c)
        last_two = _merge_parts(function, b, c)
        right = _merge_parts(function, a, last_two)
        tolerance = case.within(EXACT)
        name, names = name_of(function), names_of(function)
        three = noting("With three sets, if the last two are merged first: ")
        with three, comparing_answers(function, case, left):
            matches(left, right, tolerance, name=name, names=names)
        with noting("If the two sets are swapped: "):
            swapped = _merge_parts(function, b, a)
            with comparing_answers(function, case, first):
                matches(first, swapped, tolerance, name=name, names=names)
        known = case.expected_of(name_of(function), "first", case.arguments)
        changed = [
            Answered("three", _arguments(known, c), left),
            Answered("swapped", _arguments(b, a), swapped),
        ]
        if not case.is_stored:
            changed.append(Answered("last two", _arguments(b, c), last_two))
        values_are_right(function, case, Answered("first", case.arguments, first), changed)


def _part(case: Case, side: str) -> Part:
    return case.arguments[f"out_{side}"], case.arguments[f"lse_{side}"]


def _arguments(one: Part, other: Part) -> Arguments:
    return dict(zip(("out_a", "lse_a", "out_b", "lse_b"), (*one, *other), strict=True))


def _merge_parts(function: Function, one: Part, other: Part) -> Part:
    value = function(**_arguments(one, other))
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise Broken(f"{name_of(function)} returned {describe(value)}; expected 2 results.")
    out, lse = (as_array(item) for item in value)
    if out is None or lse is None:
        raise Broken(f"{name_of(function)} did not return two arrays.")
    return out, lse
