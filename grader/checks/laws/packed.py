"""State the law of packed documents: each gets the result that it has alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.checks.compare import Broken, as_array, describe, show_array
from grader.checks.laws.cases import Answered, Case, Function, name_of, show_case, values_are_right


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
            changed.append(Answered(("alone", number), asked, alone))
            packed = whole[here, here] if square else whole[here]
            if not np.array_equal(alone, packed):
                raise _other(function, case, number, alone, packed)
            outside = np.delete(whole[here], np.r_[here], axis=1) if square else np.zeros(0)
            if outside.any():
                raise Broken(f"Document number {number + 1} of a row sees positions of another.")
        values_are_right(function, case, Answered("first", case.arguments, whole), changed)


def _result(function: Function, documents: NDArray[Any], square: bool) -> NDArray[Any]:
    value = function(documents=documents)
    array = as_array(value)
    shape = documents.shape * (2 if square else 1)
    if array is None or array.shape != shape:
        raise Broken(f"{name_of(function)} returned {describe(value)}; expected shape {shape}.")
    return array


def _other(
    function: Function, case: Case, number: int, alone: NDArray[Any], packed: NDArray[Any]
) -> Broken:
    told = (
        f"Document number {number + 1} of a row gets another result packed than alone: it depends "
        "on what it is packed with."
    )
    arrays = show_array("alone", alone), show_array("packed", packed, alone != packed)
    return Broken(told, evidence=show_case(function, case.arguments, *arrays))
