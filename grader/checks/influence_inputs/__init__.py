"""Define the maps of influence: the inputs of each, and which positions may meet.

There is a map for every function in which positions meet. `MAPS` lists the maps that may be drawn
when it fails. The first one that shows something is drawn. The inputs are fixed, small and the same
in every suite. With them, every position that may matter does matter. The tests of the kit draw
these maps for the reference and for all fair variants. `CALLS` says how to call a function that
cannot be called directly.
"""

from collections.abc import Callable, Sequence
from typing import Any

from grader.checks.influence_inputs import attention, decoders
from grader.checks.laws.influence import Moves
from grader.checks.student import Student
from grader.steps.registry import Step

MAPS = attention.MAPS | decoders.MAPS
CALLS = attention.CALLS | decoders.CALLS


def maps_of(step: Step) -> dict[str, Sequence[Moves]]:
    """Return the maps of the step's functions."""
    return {one.name: MAPS[one.name] for one in step.functions if one.name in MAPS}


def mapped(student: Student, name: str) -> Callable[..., Any]:
    """Return the function in the form that its maps call."""
    function: Callable[..., Any] = getattr(student, name)
    return CALLS[name](student) if name in CALLS else function
