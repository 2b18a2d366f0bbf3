"""State the law of batches: the result of one sequence does not depend on the others."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken, as_array, show_array, wrong_cells
from grader.checks.laws.cases import (
    Answered,
    Case,
    Function,
    name_of,
    names_of,
    nothing_moves,
    show_case,
)
from grader.checks.laws.future import because
from grader.checks.tolerances import EXACT
from grader.steps.inputs import Arguments


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
