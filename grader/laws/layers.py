"""The law of stacks: no layer lets the future in, and the message says which one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from grader.client import CallFailed
from grader.compare import Broken
from grader.laws.cases import Axes, Case, Function
from grader.laws.time import future_does_not_matter

Alone = Callable[[Any, int], Any]


def no_block_sees_the_future(
    function: Function, cases: Sequence[Case], *, along: Axes, alone: Alone
) -> None:
    """`future_does_not_matter`; where it does, also in which of params["blocks"] it comes in.

    alone(params, n): the same parameters, with which block n alone moves anything between
    positions. What leaks then leaks in that block.
    """
    for case in cases:
        try:
            future_does_not_matter(function, [case], along=along)
        except Broken as broken:
            leaking = _leaking(function, case, along, alone)
            raise _with_blocks(broken, leaking, len(case.arguments["params"]["blocks"])) from None


def _leaking(function: Function, case: Case, along: Axes, alone: Alone) -> list[int]:
    """The blocks through which the future comes when they alone move anything."""
    params = case.arguments["params"]
    return [
        number
        for number in range(len(params["blocks"]))
        if _leaks(function, case.changed(params=alone(params, number)), along)
    ]


def _leaks(function: Function, case: Case, along: Axes) -> bool:
    try:
        future_does_not_matter(function, [case], along=along)
    except Broken:
        return True
    except CallFailed:
        return False
    return False


def _with_blocks(broken: Broken, leaking: Sequence[int], count: int) -> Broken:
    """The same finding, and which blocks it is about, if it is about some."""
    if not leaking:
        return broken
    where = " and ".join(f"blocks[{number}]" for number in leaking)
    if len(leaking) == count and count > 1:
        note = "Each block lets it in, also when it alone attends."
    else:
        note = f"It comes in through {where}: it still does when only that block attends."
    return Broken(f"{broken.told} {note}", f"{broken.shown} {note}", broken.evidence)
