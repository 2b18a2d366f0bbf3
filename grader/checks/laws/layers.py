"""State the law of stacks: no layer lets the future in, and the message says which one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from grader.checks.compare import Broken, WrongValue
from grader.checks.laws.cases import Axes, Case, Function
from grader.checks.laws.time import future_does_not_matter
from grader.isolation.client import CallFailed

Alone = Callable[[Any, Sequence[int]], Any]


def no_block_sees_the_future(
    function: Function, cases: Sequence[Case], *, along: Axes, alone: Alone
) -> None:
    """Apply `future_does_not_matter`, and name the block in params["blocks"] where a leak enters.

    alone(params, numbers): the same parameters, changed so that only these blocks move anything
    between positions. If something leaks while one block is alone, it leaks in that block, unless
    it leaks without any block.
    """
    for case in cases:
        try:
            future_does_not_matter(function, [case], along=along)
        except WrongValue:
            raise
        except Broken as broken:
            note = _where(function, case, along, alone) if broken.evidence else ""
            raise Broken(broken.told + note, broken.shown + note, broken.evidence) from None


def _where(function: Function, case: Case, along: Axes, alone: Alone) -> str:
    """Return a sentence on where the future comes in, or "" if that is not known."""
    params = case.arguments["params"]

    def leaks(*numbers: int) -> bool:
        return _leaks(function, case.changed(params=alone(params, numbers)), along)

    if leaks():
        return " It comes in outside the attention: it does so while no block attends to anything."
    every = range(len(params["blocks"]))
    leaking = [number for number in every if leaks(number)]
    if len(leaking) == len(every) > 1:
        return " Every block lets it in, even when no other block attends."
    where = " and ".join(f"blocks[{number}]" for number in leaking)
    lets = "lets" if len(leaking) == 1 else "let"
    return f" {where} {lets} it in, even when no other block attends." if where else ""


def _leaks(function: Function, case: Case, along: Axes) -> bool:
    try:
        future_does_not_matter(function, [case], along=along, sizes=[1.0], compared=False)
    except Broken as broken:
        return broken.evidence is not None  # otherwise it is a result of another kind or shape
    except CallFailed:
        return False
    return False
