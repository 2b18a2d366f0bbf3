"""State the law of relative positions: only distances count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken, as_array, describe, show_array, wrong_cells
from grader.checks.laws.cases import Answered, Case, Function, name_of, show_case, values_are_right
from grader.checks.tolerances import Tolerance
from grader.steps.inputs import digest

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
        first = Answered("first", case.arguments, before)
        if before.shape != after.shape:
            raise Broken("The shape of the result depends on where the positions begin.")
        # Products of large arrays, or of half precision, would take the judge minutes.
        if before.shape != np.shape(case.answer_of(function, first)):
            raise Broken(f"{name_of(function)} returned {describe(before)}: a wrong shape.")
        near, far = (seen(array.astype(np.float64)) for array in (before, after))
        wrong = wrong_cells(near, far, case.within(FAR))
        if wrong.any():
            raise _describe_move(function, moved, near, far, wrong)
        changed = Answered(("moved", digest(moved)), moved, after)
        values_are_right(function, case, first, [changed])


def _array(function: Function, arguments: dict[str, Any]) -> NDArray[Any]:
    value = function(**arguments)
    array = as_array(value)
    if array is None or array.ndim < 2:
        raise Broken(f"{name_of(function)} returned {describe(value)}; expected an array.")
    return array


def _describe_move(
    function: Function,
    arguments: dict[str, Any],
    near: NDArray[Any],
    far: NDArray[Any],
    wrong: NDArray[Any],
) -> Broken:
    told = (
        "When all positions move by the same amount, the distances between them stay the "
        "same, but the scores change."
    )
    arrays = show_array("before", near), show_array("after", far, wrong)
    return Broken(told, evidence=show_case(function, arguments, *arrays))
