"""State the laws of positions, documents and partial results.

Only distances between positions count. A packed document gets the result that it has alone. The
order in which partial results are merged does not matter.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken, as_array, matches, show_array, wrong_cells
from grader.checks.laws.cases import (
    Answered,
    Case,
    Function,
    comparing_answers,
    name_of,
    names_of,
    noting,
    returned,
    show_case,
    values_are_right,
)
from grader.checks.tolerances import EXACT, Tolerance
from grader.steps.inputs import Arguments

FAR = Tolerance(1e-7, 1e-7)  # cosines of large angles: a position of 1e4 costs four digits


def scores_of(y: NDArray[Any]) -> NDArray[Any]:
    """Return the product of every position with every other."""
    return np.asarray(y @ np.swapaxes(y, -1, -2))


def depends_on_distance_only(
    function: Function,
    cases: Sequence[Case],
    *,
    by: NDArray[Any],
    seen: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray,
) -> None:
    """Demand that the result stays the same when all positions shift by the same distance.

    by: added to every row of the argument `angles`. seen: the part that should stay.
    """
    for case in cases:
        moved = {**case.arguments, "angles": case.arguments["angles"] + by}
        before, after = (_array(function, given) for given in (case.arguments, moved))
        if before.shape != after.shape:
            raise Broken("The shape of the result depends on where the positions begin.")
        # Products of large arrays, or of half precision, would take the judge minutes.
        if before.shape != np.shape(case.right_result(function)):
            raise returned(function, before, ": a wrong shape.")
        near, far = (seen(array.astype(np.float64)) for array in (before, after))
        wrong = wrong_cells(near, far, case.within(FAR))
        if wrong.any():
            arrays = show_array("before", near), show_array("after", far, wrong)
            raise Broken(
                "When all positions move by the same amount, the distances between them stay the "
                "same, but the scores change.",
                evidence=show_case(function, moved, *arrays),
            )
        first = Answered(case.arguments, before)
        values_are_right(function, case, first, [Answered(moved, after)])


def _array(function: Function, arguments: dict[str, Any]) -> NDArray[Any]:
    value = function(**arguments)
    array = as_array(value)
    if array is None or array.ndim < 2:
        raise returned(function, value, "; expected an array.")
    return array


def runs(documents: NDArray[Any]) -> Iterator[slice]:
    """Yield the place of each document: the runs of equal numbers."""
    edges = [0, *(np.flatnonzero(documents[1:] != documents[:-1]) + 1), len(documents)]
    for start, stop in itertools.pairwise(edges):
        yield slice(int(start), int(stop))


def documents_are_alone(function: Function, cases: Sequence[Case], *, square: bool = False) -> None:
    """Demand that a packed row gives each document the result that it has alone.

    square: the result has a row and a column for each position, and 0 or False between two
    documents.
    """
    for case in cases:
        documents = case.arguments["documents"]
        whole, changed = _result(function, documents, square), []
        for number, here in enumerate(runs(documents)):
            alone = _result(function, documents[here], square)
            asked = {**case.arguments, "documents": documents[here]}
            changed.append(Answered(asked, alone))
            packed = whole[here, here] if square else whole[here]
            if not np.array_equal(alone, packed):
                raise Broken(
                    f"Document number {number + 1} of a row gets another result packed than alone: "
                    "it depends on what it is packed with.",
                    evidence=show_case(
                        function,
                        case.arguments,
                        show_array("alone", alone),
                        show_array("packed", packed, alone != packed),
                    ),
                )
            outside = np.delete(whole[here], np.r_[here], axis=1) if square else np.zeros(0)
            if outside.any():
                raise Broken(f"Document number {number + 1} of a row sees positions of another.")
        values_are_right(function, case, Answered(case.arguments, whole), changed)


def _result(function: Function, documents: NDArray[Any], square: bool) -> NDArray[Any]:
    value = function(documents=documents)
    array = as_array(value)
    shape = documents.shape * (2 if square else 1)
    if array is None or array.shape != shape:
        raise returned(function, value, f"; expected shape {shape}.")
    return array


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
        known = case.right_result(function)
        changed = [Answered(_arguments(known, c), left), Answered(_arguments(b, a), swapped)]
        if not case.is_stored:
            changed.append(Answered(_arguments(b, c), last_two))
        values_are_right(function, case, Answered(case.arguments, first), changed)


def _part(case: Case, side: str) -> Part:
    return case.arguments[f"out_{side}"], case.arguments[f"lse_{side}"]


def _arguments(one: Part, other: Part) -> Arguments:
    return dict(zip(("out_a", "lse_a", "out_b", "lse_b"), (*one, *other), strict=True))


def _merge_parts(function: Function, one: Part, other: Part) -> Part:
    value = function(**_arguments(one, other))
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise returned(function, value, "; expected 2 results.")
    out, lse = (as_array(item) for item in value)
    if out is None or lse is None:
        raise Broken(f"{name_of(function)} did not return two arrays.")
    return out, lse
