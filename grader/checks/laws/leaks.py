"""State laws about leaks: from the future, and from the other sequences of a batch.

Also the law that a prefix alone gives the same result.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import UNSAID, Broken, as_array, largest, show_array, wrong_cells
from grader.checks.laws.cases import (
    Answered,
    Axes,
    Case,
    Function,
    name_of,
    names_of,
    nothing_moves,
    returned,
    show_case,
)
from grader.checks.laws.influence import UNMOVED, Moves, Nudge, index_along, past
from grader.checks.tolerances import EXACT, Tolerance
from grader.isolation.client import CallFailed
from grader.report.influences import of_kind
from grader.steps.inputs import Arguments

PREFIX = Tolerance(0.0, UNMOVED)
MAX_MAPPED = 40
POSITIONS = {"q": "query", "k": "key", "v": "value"}


def positions_text(first: int, last: int) -> str:
    """Return `3`, or `3..5`."""
    return f"{first}" if first == last else f"{first}..{last}"


def positions_of(moved: NDArray[Any], axis: int) -> list[int]:
    """Return the places along the axis at which anything is True."""
    others = tuple(i for i in range(moved.ndim) if i != axis % moved.ndim)
    return [int(i) for i in np.flatnonzero(moved.any(axis=others))]


def _in_time(
    function: Function, along: Axes, axis: int, value: Any, arguments: Arguments
) -> NDArray[Any]:
    """Return a result, if it is an array with as long a time axis as these arguments have."""
    array, length = as_array(value), _length(arguments, along)
    if array is None or array.ndim < -axis or array.shape[axis] != length:
        raise returned(function, value, f"; its axis {axis} should be time, {length} long.")
    return array


def _cut_time(
    arguments: Arguments, along: Axes, part: slice, masks: Sequence[str] = ()
) -> Arguments:
    """Return the arguments with only that part of time, for queries and for keys in masks."""

    def only(name: str, value: Any) -> Any:
        if name in masks:
            return value[..., part, part]
        if name not in along or value is None:
            return value
        return value[index_along(value, along[name], part)]

    return {name: only(name, value) for name, value in arguments.items()}


def _length(arguments: Arguments, along: Axes) -> int:
    """Return how many positions there are."""
    name, axis = next(iter(along.items()))
    return int(arguments[name].shape[axis])


def _futures(case: Case, along: Axes, sizes: Sequence[float]) -> Iterator[tuple[object, Arguments]]:
    """Yield every cut with everything after it replaced, smallest change first."""
    name, length = next(iter(along)), _length(case.arguments, along)
    # Tokens have no size, so they are replaced only once.
    for size in sizes[:1] if case.arguments[name].dtype.kind in "iu" else sizes:
        change = Nudge(case.arguments, case.others(along, "future", size), along)
        for start in range(1, length):
            yield ("future", tuple(along), size, start), change.replaced(slice(start, None))


def future_does_not_matter(
    function: Function,
    cases: Sequence[Case],
    *,
    along: Axes,
    axis: int = -2,
    sizes: Sequence[float] = (1.0, 1e3),
) -> None:
    """Demand that outputs before a cut stay when all inputs after it are replaced, for every cut.

    along: the arguments with a time axis, and which axis that is. axis: time in the output. sizes:
    the sizes of the replacing numbers.
    """
    for case in cases:
        questions = list(_futures(case, along, sizes))
        compare = partial(_stays_before, function, case, along, axis)
        read = partial(_in_time, function, along, axis)
        cuts = _length(case.arguments, along) - 1
        nothing_moves(function, case, questions, compare, read, stored=cuts)


FEW_DIGITS = 1e-5  # of the largest number: as much as float32 leaves of a result


def because(one: NDArray[Any], other: NDArray[Any], why: str = "") -> str:
    """Return the end of a sentence: why numbers differ, or that it may be rounding."""
    far = wrong_cells(one.astype(float), other, Tolerance(0.0, FEW_DIGITS * max(1.0, largest(one))))
    if far.any():
        return f": {why}." if why else "."
    most = np.abs(other[one != other] - one[one != other]).max(initial=0.0)
    return f", by {most:.1g} only: are all numbers kept with the digits of a float64?"


def _movement(before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
    """Return how far each number moved. One that stops being finite is unstable, not a leak."""
    with np.errstate(invalid="ignore"):
        difference = np.abs(after.astype(float) - before.astype(float))
    return np.where(np.isfinite(difference), difference, 0.0)


def _stays_before(
    function: Function, case: Case, along: Axes, axis: int, before: NDArray[Any], asked: Answered
) -> None:
    """Raise Broken if anything before the cut moved."""
    after, (*_, size, start) = asked.got, asked.key
    if after.shape != before.shape:
        told = f"The shape of the output depends on later values: {UNSAID} became {UNSAID}."
        raise Broken(told, shapes=[before.shape, after.shape])
    difference = _movement(before, after)
    moved = difference > case.within(PREFIX).atol
    moved[index_along(moved, axis, slice(start, None))] = False
    early = positions_of(moved, axis)
    if not early:
        return
    length = before.shape[axis]
    row, cut = early[0], positions_text(start, length - 1)
    told = (
        f"Position {row} of the output changed when only position{'s' * (start < length - 1)} "
        f"{cut} of {' and '.join(along)} changed; it may depend on "
        f"position{'s' * (row > 0)} {positions_text(0, row)} only."
    )
    biggest = np.take(difference, row, axis).max()
    by = f" The change is {biggest:.3g}." if before.dtype.kind == "f" else ""
    expected = show_array("before", before)
    got = show_array("after", after, moved)
    evidence = show_case(function, case.arguments, expected, got)
    evidence = replace(evidence, call=f"{evidence.call}, with positions {cut} replaced")
    raise _with_map(Broken(told, told + by, evidence), function, case, along, axis, size)


def _with_map(
    broken: Broken, function: Function, case: Case, along: Axes, axis: int, size: float
) -> Broken:
    """Return the finding with the map of all influences, if that map shows a leak.

    It shows leaks, not missing influences, because this law does not know which earlier positions
    should matter.
    """
    evidence = broken.evidence
    if evidence is None or _length(case.arguments, along) > MAX_MAPPED:
        return broken
    with contextlib.suppress(Broken, CallFailed):
        change = Nudge(case.arguments, case.others(along, "future", size), along)
        sees = past(change.length)
        moves = Moves(change, sees, axis, input=_input(along), all_matter=False)
        found = moves.draw(function)
        if of_kind(found, "leak"):
            evidence = replace(evidence, influence=found)
    return Broken(broken.told, broken.shown, evidence)


def _input(along: Axes) -> str:
    """Return the name of one position of these arguments: a token, if there is only one kind."""
    if len(along) > 2 or not {"x", "tokens"}.isdisjoint(along):
        return "token"
    return " and ".join(POSITIONS.get(name, name) for name in along)


def prefix_gives_the_same(
    function: Function,
    cases: Sequence[Case],
    *,
    along: Axes,
    axis: int = -2,
    masks: Sequence[str] = (),
) -> None:
    """Demand that one pass over everything gives the same as a separate pass over every prefix.

    masks: the arguments whose last two axes are both time, (..., T, T).
    """
    for case in cases:
        questions = [
            (("prefix", tuple(along), end), _cut_time(case.arguments, along, slice(0, end), masks))
            for end in range(1, _length(case.arguments, along))
        ]
        compare = partial(_is_as_alone, function, case, along, axis)
        nothing_moves(function, case, questions, compare, partial(_in_time, function, along, axis))


def _is_as_alone(
    function: Function, case: Case, along: Axes, axis: int, whole: NDArray[Any], asked: Answered
) -> None:
    """Raise Broken if a prefix alone gives another result than in the whole."""
    alone, end = asked.got, asked.key[-1]
    part = np.take(whole, np.arange(end), axis)
    if alone.shape != part.shape:
        raise Broken(
            f"The shape of the output depends on how much comes after: for the first {end} "
            f"positions alone it is {UNSAID}, in the whole {UNSAID}.",
            shapes=[alone.shape, part.shape],
        )
    wrong = wrong_cells(alone, part, case.within(PREFIX))
    if not wrong.any():
        return
    row = positions_of(wrong, axis)[0]
    where = "the first position" if end == 1 else f"{end} positions"
    why = "it depends on what comes after, or on how much comes after"
    told = f"Position {row} of the output differs when the text ends after {where}"
    told += because(part, alone, why)
    arrays = show_array("this prefix alone", alone), show_array("in the whole", part, wrong)
    broken = Broken(told, evidence=show_case(function, asked.arguments, *arrays))
    raise _with_map(broken, function, case, along, axis, 1.0)


def rows_are_independent(
    function: Function,
    cases: Sequence[Case],
    *,
    batched: Sequence[str],
    sizes: Sequence[float] = (1.0,),
    what: str = "sequence",
    results: Sequence[str] = (),
) -> None:
    """Demand that the result of one sequence of a batch does not depend on the others.

    batched: the arguments whose first axis counts the sequences. sizes: the sizes of the numbers
    that replace the others. what: the word for them, if they are not sequences. results: those of
    several results that have an entry for each, if not all have one; all of them must be right.
    """
    for case in cases:
        rows = range(len(case.arguments[batched[0]]))
        others = {size: case.others(batched, "rows", size) for size in sizes}
        questions = [
            (("rows", size, row), _replace_others(case, others[size], row))
            for size in sizes
            for row in rows
        ]
        compare = partial(_row_stays, function, case, what, results)
        nothing_moves(function, case, questions, compare, stored=len(rows))


def _results(
    function: Function, value: Any, wanted: Sequence[str]
) -> list[tuple[str, NDArray[Any] | None]]:
    """Return the wanted arrays that the function returns, each with its name; by default all."""
    names = names_of(function)
    if len(names) > 1 and isinstance(value, (tuple, list)) and len(value) == len(names):
        pairs = zip(names, value, strict=True)
        wanted = wanted or names
        return [(f"{name}: ", as_array(item)) for name, item in pairs if name in wanted]
    return [("", as_array(value))]


def _replace_others(case: Case, others: Arguments, row: int) -> Arguments:
    """Return the arguments with every sequence but one replaced."""
    arguments = dict(case.arguments)
    for name, other in others.items():
        array = arguments[name]
        here = np.arange(len(array)).reshape(-1, *[1] * (array.ndim - 1)) == row
        arguments[name] = np.where(here, array, other)
    return arguments


def _row_stays(
    function: Function, case: Case, what: str, wanted: Sequence[str], first: Any, asked: Answered
) -> None:
    """Raise Broken if the result of the only row that is the same has changed."""
    row = asked.key[-1]
    both = (_results(function, value, wanted) for value in (first, asked.got))
    for (label, before), (_, after) in zip(*both, strict=False):
        alike = before is not None and after is not None and before.shape == after.shape
        if not alike or before.shape[:1] <= (row,):
            raise Broken(
                f"{label}{name_of(function)} does not return an array with a row for each {what}."
            )
        wrong = wrong_cells(before[row].astype(float), after[row].astype(float), case.within(EXACT))
        if not wrong.any():
            continue
        told = f"{label}The result for {what} {row} changed when only the other {what}s changed"
        told += because(before[row], after[row])
        expected = show_array(f"{what} {row} before", before[row])
        got = show_array(f"{what} {row} after", after[row], wrong)
        raise Broken(told, evidence=show_case(function, case.arguments, expected, got))
