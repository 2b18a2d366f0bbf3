"""Run an optimiser for the laws: a function that is called step after step, with a state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.checks.compare import Broken
from grader.checks.laws.cases import Case, is_right, noting
from grader.checks.laws.chunks import Stateful
from grader.checks.laws.gradients import combine
from grader.checks.laws.state import Keeping, call_unchanged, still
from grader.checks.student import Student
from grader.checks.tolerances import EXACT, Tolerance
from grader.steps.inputs import Arguments

EACH_STEP = ("tokens", "grads", "lr", "weight_decay")


@dataclass(frozen=True)
class InSteps(Stateful):
    """A function that takes a state and returns the next; to a law, one function of all the steps.

    Its arguments are those of the function without `state`. The arguments in EACH_STEP hold one
    value for each step. `nudge` is added to all parameters before each step. The result is a tuple:
    for each step what the function returns, without the state. tolerance: how exact that can be.
    """

    tolerance: Tolerance = EXACT

    @property
    def step_names(self) -> tuple[str, ...]:
        """Return the names of a step's results besides the state."""
        return tuple(name for name in self.function.returns if not name.startswith("*"))

    def __call__(self, **whole: Any) -> tuple[Any, ...]:
        return tuple(self.results(whole, self.step))

    def call_unchanged(self, whole: Arguments) -> tuple[Any, ...]:
        """Return all results, if every call leaves its own arguments alone."""
        return tuple(self.results(whole, lambda **given: self._ask_unchanged(given)))

    def _ask_unchanged(self, given: Arguments) -> Any:
        """Return a step's result if it left its arguments alone; do not name which if not.

        The parameters are the judged code's own result of the step before, so their keys could
        carry a message.
        """
        try:
            return call_unchanged(self.step, given)
        except Broken as broken:
            broken.told = f"{self.name} changed one of its arguments."
            raise

    def results(self, whole: Arguments, ask: Callable[..., Any]) -> Iterator[Any]:
        """Make a state at once, and take a step for each requested result."""
        return self._results(whole, ask, self.fresh(params=whole["params"]))

    def _results(self, whole: Arguments, ask: Callable[..., Any], state: Any) -> Iterator[Any]:
        params = whole["params"]
        nudges: Sequence[float] | None = whole.get("nudge")
        for number in range(len(whole["lr"])):
            given = {
                name: value[number] if name in EACH_STEP else value
                for name, value in whole.items()
                if name not in ("params", "nudge")
            }
            if nudges is not None:
                by = nudges[number]
                params = combine(lambda p, by=by: np.add(p, by), params)
            *rest, state = self.split(ask(**given, params=params, state=state))
            params = rest[-1]
            yield tuple(rest) if len(rest) > 1 else params


def agrees_step_by_step(function: InSteps, cases: Sequence[Case], *, like: str) -> None:
    """Demand after each step the same values that the reference has."""
    for case in cases:
        for number, got in enumerate(function.results(case.arguments, function.step)):
            _right_after(function, case, number, got, like)


def _right_after(function: InSteps, case: Case, number: int, got: Any, like: str) -> None:
    right = case.expected(like)[number]
    with noting(f"After step {number + 1}: "):
        tolerance, names = function.tolerance, function.step_names
        is_right(function, case, got, tolerance=tolerance, expected=right, names=names)


def runs_are_separate(
    student: Student, function: InSteps, cases: Sequence[Case], *, like: str
) -> None:
    """Demand that two interleaved training runs, each with its own state, give right results.

    What an earlier step returned, besides the state, must still be the same in the end.
    """
    keeping = Keeping(function.step)
    runs = [function.results(case.arguments, keeping) for case in cases]
    with noting("With two runs in turns, each with a state of its own: "):
        for number, turn in enumerate(zip(*runs, strict=True)):
            for case, got in zip(cases, turn, strict=True):
                _right_after(function, case, number, got, like)
    for before, now in keeping.look_again(student):
        now = now[:-1] if isinstance(now, (tuple, list)) else now
        still(function, before[:-1], now, names=function.step_names)
