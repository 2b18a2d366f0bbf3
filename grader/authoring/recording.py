"""Judge the reference in the student's place: record the visible results, and test the laws.

If the reference broke a law, the law or the reference would be wrong.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from grader.checks.student import Placed
from grader.checks.suites import Given, Recording
from grader.engine.bench import Attempt, Bench, Sitting
from grader.isolation.client import Answer, Program, Raised
from grader.isolation.wire import Counted, Handle, Laid
from grader.report.records import CheckVerdict
from grader.steps.registry import Limits, Registry, Step
from grader.steps.tree import map_leaves


def _plain(value: Any) -> Any:
    """Return the arguments without wrappers, because the reference copies its arguments."""
    wrapped = (Laid, Counted)
    return map_leaves(value, lambda leaf: leaf.array if isinstance(leaf, wrapped) else leaf)


class ReferenceSitting(Sitting):
    """The reference itself in the student's place, without a worker or a submission."""

    def __init__(self, step: Step, given: Given, suite: str, limits: Limits) -> None:
        nowhere = SimpleNamespace(limits=limits)
        bench = Bench(nowhere, lambda step: given, suite)  # type: ignore[arg-type]
        bench.load([step])
        super().__init__(bench, Attempt(step, Program(step.id, {}), ""))
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

    def ask(self, function: str, *args: Any, **options: Any) -> Answer:
        """Return the reference's answer."""
        then = options.get("then")
        positional, keywords = then or args
        held = self._result(function, *args)
        result = self._result(function, positional, keywords) if then else held
        value = self._parcel(result, options["opaque"])
        kept = self._keep(held) if options.get("keep") else None
        after = [list(positional), dict(keywords)]
        return Answer(value, kept=kept, arguments=after, traced=(0, 0, 0), first=held)

    def ask_all(
        self, function: str, questions: Iterable[Placed], opaque: Sequence[bool]
    ) -> Iterator[Answer]:
        """Return the reference's answers to all these questions, in turn."""
        return (self.ask(function, *placed, opaque=opaque) for placed in questions)

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

    def fetch(self, handle: Handle) -> Any:
        """Return a kept result."""
        return self.kept[handle.number]


def judge_reference(
    registry: Registry, step: Step, given: Given, suite: str = "visible"
) -> list[CheckVerdict]:
    """Return the verdicts on the reference, from the suite's checks of that step."""
    return ReferenceSitting(step, given, suite, registry.limits).run(step.checks)


def record(registry: Registry, step: Step) -> tuple[Mapping[str, Any], list[CheckVerdict]]:
    """Return the results that the step's visible checks need, by function and digest."""
    given = Recording()
    verdicts = judge_reference(registry, step, given)
    return given.values, verdicts
