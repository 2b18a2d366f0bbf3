"""Judge the reference in the student's place: record the visible results, and test the laws.

If the reference broke a law, the law or the reference would be wrong.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from grader.checks.suites import Given, Recording
from grader.engine.bench import Attempt, Bench
from grader.isolation.client import Answer, Raised
from grader.isolation.wire import Counted, Handle, Laid
from grader.report.records import CheckVerdict
from grader.steps.registry import Limits, Registry, Step
from grader.steps.tree import map_leaves


def _plain(value: Any) -> Any:
    """Return the arguments without wrappers, because the reference copies its arguments."""
    wrapped = (Laid, Counted)
    return map_leaves(value, lambda leaf: leaf.array if isinstance(leaf, wrapped) else leaf)


class ReferenceBench(Bench):
    """A bench that judges the reference itself, without a worker or a submission."""

    def __init__(self, step: Step, given: Given, suite: str, limits: Limits) -> None:
        super().__init__(None, lambda step: given, suite)  # type: ignore[arg-type]
        self.attempt = Attempt(step, None, "")  # type: ignore[arg-type]
        self.reference = importlib.import_module("grader.answer_key.reference")
        self.kept: list[Any] = []

    def _keep(self, value: Any) -> Handle:
        self.kept.append(value)
        return Handle(len(self.kept) - 1)

    def _parcel(self, result: Any, opaque: Sequence[bool]) -> Any:
        if opaque == [True]:
            return self._keep(result)
        if any(opaque):
            pairs = zip(result, opaque, strict=True)
            return tuple(self._keep(part) if hide else part for part, hide in pairs)
        return result

    def _ask(self, function: str, *args: Any, **options: Any) -> Answer:
        positional, keywords = options["then"] or args
        held = self._result(function, *args)
        result = self._result(function, positional, keywords) if options["then"] else held
        value = self._parcel(result, options["opaque"])
        kept = self._keep(held) if options["keep"] else None
        after = [list(positional), dict(keywords)]
        return Answer(value, kept=kept, arguments=after, traced=(0, 0, 0), first=held)

    def _result(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return the result of the reference's function."""
        values = [
            self.kept[value.number] if isinstance(value, Handle) else _plain(value)
            for value in args
        ]
        try:
            return getattr(self.reference, function)(*values, **_plain(dict(kwargs)))
        except ValueError as error:
            raise Raised("ValueError", ("ValueError",), str(error), ()) from error

    def _fetch(self, handle: Handle) -> Any:
        return self.kept[handle.number]


def judge_reference(
    registry: Registry, step: Step, given: Given, suite: str = "visible"
) -> list[CheckVerdict]:
    """Return the verdicts on the reference, from the suite's checks of that step."""
    bench = ReferenceBench(step, given, suite, registry.limits)
    bench.load([step])
    return bench.run(step.checks)


def record(registry: Registry, step: Step) -> tuple[Mapping[str, Any], list[CheckVerdict]]:
    """Return the results that the step's visible checks need, by function and digest."""
    given = Recording()
    verdicts = judge_reference(registry, step, given)
    return given.values, verdicts
