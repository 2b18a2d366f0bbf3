"""Build what is generated from the solutions: stubs, and the visible checks' results.

The results come from the torch reference, which is judged in the student's place. That also tests
the laws: if the reference broke a law, the law or the reference would be wrong.
"""

import importlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from grader.checks.student import Placed
from grader.checks.suites import DECIMALS, Given
from grader.engine.bench import Attempt, Bench, Trial
from grader.engine.failures import plain
from grader.isolation.client import Answer, Program, Raised
from grader.isolation.wire import Handle
from grader.report.records import CheckVerdict, Status
from grader.steps.inputs import Arguments, digest
from grader.steps.paths import STUBS, VALUES
from grader.steps.registry import Limits, Registry, Step
from grader.steps.stubs import BuildError, solution_of, stub, write_unless_worked_on
from grader.steps.tree import pairs

BUILT = STUBS / ".built.json"  # hashes of the stubs as they were built
# Another processor rounds otherwise. A gradient that is 0 but for rounding, as that of b_k, comes
# out of AdamW a thousand times larger.
CLOSE = 1e-10


class Recording(Given):
    """The visible suite's inputs, and the reference's results as checks ask for them."""

    decimals = DECIMALS

    def __init__(self) -> None:
        super().__init__()
        self.reference = importlib.import_module("grader.answer_key.reference")
        self.values: dict[str, dict[str, Any]] = {}

    def expect(self, name: str, arguments: Arguments) -> Any:
        """Return the reference's result, and store it."""
        value = getattr(self.reference, name)(**arguments)
        self.values.setdefault(name, {})[digest(arguments)] = pack_value(value)
        return value


def pack_value(value: Any) -> Any:
    """Return a result as JSON data."""
    if isinstance(value, tuple):
        return {"tuple": [pack_value(item) for item in value]}
    if isinstance(value, list):
        return {"list": [pack_value(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": {key: pack_value(item) for key, item in value.items()}}
    if isinstance(value, np.ndarray):
        return {"kind": value.dtype.kind, "shape": value.shape, "values": value.ravel().tolist()}
    return value


class ReferenceTrial(Trial):
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
            self.kept[value.number] if isinstance(value, Handle) else plain(value) for value in args
        ]
        try:
            return getattr(self.reference, function)(*values, **plain(dict(kwargs)))
        except ValueError as error:
            raise Raised("ValueError", ("ValueError",), str(error), ()) from error

    def fetch(self, handle: Handle) -> Any:
        """Return a kept result."""
        return self.kept[handle.number]


def judge_reference(
    registry: Registry, step: Step, given: Given, suite: str = "visible"
) -> Sequence[CheckVerdict]:
    """Return the verdicts on the reference, from the suite's checks of that step."""
    return ReferenceTrial(step, given, suite, registry.limits).run(step.checks)


def record(registry: Registry, step: Step) -> Mapping[str, Any]:
    """Return the results that the step's visible checks need, by function and digest.

    Raise BuildError if the reference fails a check.
    """
    given = Recording()
    for verdict in judge_reference(registry, step, given):
        if verdict.status is not Status.PASSED:
            raise BuildError(f"the reference fails {verdict.check}: {verdict.message}")
    return given.values


def stubs(registry: Registry) -> dict[Path, str]:
    """Return all stubs by path."""
    return {STUBS / step.filename: stub(solution_of(step)) for step in registry.steps}


def same_values(old: Any, new: Any) -> bool:
    """Return whether two values are equal, except for digits that another torch may change."""
    return all(_same(one, other) for _, one, other in pairs(old, new))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(one == other)


def write_values(path: Path, recorded: Mapping[str, Any]) -> bool:
    """Store the results, one call per line, and return whether they changed."""
    new = json.loads(json.dumps(recorded))
    if path.exists() and same_values(json.loads(path.read_text(encoding="utf-8")), new):
        return False
    functions = [
        f'"{name}": {{\n'
        + ",\n".join(f'"{key}": {json.dumps(new[name][key])}' for key in sorted(new[name]))
        + "\n}"
        for name in sorted(new)
    ]
    path.write_text("{\n" + ",\n".join(functions) + "\n}\n", encoding="utf-8")
    return True


def build_stubs(registry: Registry) -> list[Path]:
    """Write the stubs that are out of date."""
    return write_unless_worked_on(stubs(registry), BUILT)


def build(registry: Registry) -> list[Path]:
    """Write everything that is out of date, and return the paths."""
    written = build_stubs(registry)
    stored = {VALUES / f"{step.id}.json": step for step in registry.steps}
    return written + [p for p, step in stored.items() if write_values(p, record(registry, step))]
