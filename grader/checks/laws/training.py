"""Run an optimiser for the laws: a function that is called step after step, with a state."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.checks.compare import Broken
from grader.checks.laws.cases import Case, Function, is_right, noting
from grader.checks.laws.chunks import Stateful
from grader.checks.laws.gradients import combine
from grader.checks.laws.state import call_unchanged
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
    in_turns = "With two runs in turns, each with a state of its own: "

    def __call__(self, **whole: Any) -> tuple[Any, ...]:
        return self._join(whole, self.step)

    def call_unchanged(self, whole: Arguments) -> tuple[Any, ...]:
        """Return all results, if every call leaves its own arguments alone."""
        return self._join(whole, lambda **given: self._ask_unchanged(given))

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

    def _join(self, whole: Arguments, ask: Function) -> tuple[Any, ...]:
        return tuple(got for _, got in self.parts(whole, ask))

    def parts(self, whole: Arguments, ask: Function | None = None) -> Iterator[tuple[int, Any]]:
        """Make a state at once, and take a step for each requested result."""
        return enumerate(self._results(whole, ask or self.step, self.fresh(params=whole["params"])))

    def _results(self, whole: Arguments, ask: Function, state: Any) -> Iterator[Any]:
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

    def judge(self, case: Case, part: tuple[int, Any]) -> None:
        """Raise Broken unless a step has the result that the reference has after it."""
        number, got = part
        right = case.right_result(self)[number]
        with noting(f"After step {number + 1}: "):
            is_right(self, case, got, self.tolerance, right, names=self.results)
