"""Which known mistake gives exactly these numbers? Compared on every call of the attempt.

The known mistakes of a function run in a worker of their own, on the calls that the student's
function got, in the same order. One that answers every call as the student's code did is the cause,
or does the same as it. When none does, mistakes in what the function calls are tried, then two at
once. When none of that fits either, nothing is said: silence beats a guess.
"""

from __future__ import annotations

import ast
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.client import CallFailed, Program, Raised, Worker
from grader.inputs import digest
from grader.protocol import Counted, Foreign, Handle, Laid
from grader.records import Diagnosis
from grader.registry import PACKAGE, Registry, Step
from grader.sandbox import Host
from grader.variants import MISTAKES, Variant, read

DOUBLE, SINGLE = 1e-9, 1e-4
MAX_PAIRS = 6000
REPLAY = PACKAGE / "replay.py"
HANDLE = "handle of"  # as in the replay, which like the worker is only ever sent as text
_LAST = """
def explaining(calls, causes):
    from exercises.replay import survivors
    return survivors(globals(), calls, causes)
"""


# All functions that write into their arguments fail in the same words, whatever they write.
WRITES = Diagnosis(
    "np_input_mutated",
    "Look for +=, [...] = and out= in the line that is named: whose array stands on the left?",
    "The function writes into an array that it was given.",
)


@dataclass(frozen=True)
class Call:
    """One call of a student's function, and what became of it: a value, or what was raised."""

    function: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    opaque: bool
    outcome: Any


@dataclass(frozen=True)
class Log:
    """The calls of an attempt, in order, and which of them each check made."""

    calls: list[Call] = field(default_factory=list)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    def of(self, check: str) -> Sequence[Call]:
        """The calls that the check made."""
        return self.calls[slice(*self.spans.get(check, (0, 0)))]

    def fingerprint(self, check: str) -> str:
        """A digest of what the check was answered, to the last bit; "" where it got no values."""
        outcomes = [call.outcome for call in self.of(check)]
        if not outcomes or any(isinstance(outcome, Raised) for outcome in outcomes):
            return ""
        return digest(outcomes)


@dataclass(frozen=True)
class Cause:
    """Mistakes that, made together, give what the student's code gives."""

    variants: tuple[Variant, ...]

    @property
    def places(self) -> dict[str, str]:
        """What stands in which function's place."""
        return {name: other for variant in self.variants for name, other in variant.places.items()}

    @property
    def diagnosis(self) -> Diagnosis:
        """For the report."""
        first = self.variants[0]
        if len(self.variants) == 1:
            return Diagnosis(first.id, first.hint, first.says)
        ids = " + ".join(variant.id for variant in self.variants)
        says = " ".join(variant.says for variant in self.variants)
        hint = " ".join(variant.hint for variant in self.variants)
        return Diagnosis(ids, hint, f"At least two things differ. {says}")


class Library:
    """The known mistakes of a step and the steps before it, beside right solutions."""

    def __init__(self, host: Host, registry: Registry, right: Mapping[str, str]) -> None:
        self.host = host
        self.registry = registry
        self.right = {name: (source, f"<{name}>") for name, source in right.items()}

    def causes(self, step: Step, function: str) -> Iterator[list[Cause]]:
        """What may be wrong with a function, likeliest first: itself, a part of it, two parts."""
        singles = [variant for variant in read(MISTAKES, step) if function in variant.places]
        yield [Cause((variant,)) for variant in singles]
        parts = self._parts(step, _used(self.right[step.id][0], function))
        yield [Cause((variant,)) for part in parts for variant in part]
        plain = [[variant for variant in part if self._plain(variant)] for part in parts]
        pairs = (
            Cause((one, other))
            for first, second in itertools.combinations(plain, 2)
            for one, other in itertools.product(first, second)
        )
        yield list(itertools.islice(pairs, MAX_PAIRS))

    def _plain(self, variant: Variant) -> bool:
        """Whether the values are wrong on plain cases: two rarer things at once are rarer still."""
        function = self.registry.find(variant.step).function(variant.replaces)
        return variant.caught_by == function.checks[0].id

    def _parts(self, step: Step, names: set[str]) -> list[list[Variant]]:
        """The known mistakes of these functions, whichever step they belong to."""
        steps = [*self.registry.before(step), step]
        owners = {f.name: owner for owner in steps for f in owner.functions if f.name in names}
        return [
            [v for v in read(MISTAKES, owner) if list(v.places) == [name]]
            for name, owner in owners.items()
        ]

    def explaining(
        self, step: Step, function: str, causes: Sequence[Cause], calls: Sequence[Call]
    ) -> list[Cause]:
        """Those of the causes that answer all of these calls as the student's code did."""
        used = _used(self.right[step.id][0], function) | {function}
        own = [name for name in used if name in {f.name for f in step.functions}]
        records = [_record(call) for call in calls]
        wanted = [
            {
                "places": cause.places,
                "rebind": [] if function in cause.places else own,
                "calls": sorted(
                    {function, *cause.places} | {c.function for c in calls if c.opaque}
                ),
            }
            for cause in causes
        ]
        worker = Worker(self.host, time.monotonic() + self.host.limits.step_seconds)
        try:
            worker.load(self._program(step, causes))
            answer = worker.call("explaining", [records, wanted], {})
        finally:
            worker.close()
        return [causes[number] for number in answer.value]

    def _program(self, step: Step, causes: Sequence[Cause]) -> Program:
        """The solution, behind it the variants under their own names, and the replay."""
        known = {variant.name: variant for cause in causes for variant in cause.variants}
        preludes = dict.fromkeys(variant.prelude for variant in known.values())
        imports = [f"from exercises.{e.id} import *" for e in self.registry.before(step)]
        bodies = [variant.body for variant in known.values()]
        text = "\n\n".join([*imports, self.right[step.id][0], *preludes, *bodies, _LAST])
        replay = (REPLAY.read_text(encoding="utf-8"), "<replay>")
        sources = {**self.right, step.id: (text, "<mistakes>"), "replay": replay}
        return Program(step.id, sources)


def _used(source: str, function: str) -> set[str]:
    """The names that a function of that module uses, directly or through its own functions."""
    tree = ast.parse(source)
    bodies = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found: set[str] = set()
    waiting = [function]
    while waiting:
        body = bodies.get(waiting.pop())
        names = (
            {node.id for node in ast.walk(body) if isinstance(node, ast.Name)} if body else set()
        )
        waiting += names & set(bodies) - found
        found |= names
    return found - {function}


def _record(call: Call) -> dict[str, Any]:
    """A call as data for the replay."""
    record = {
        "function": call.function,
        "args": [_marked(value) for value in call.args],
        "kwargs": dict(call.kwargs),
        "tolerance": SINGLE if any(map(_single, [*call.args, *call.kwargs.values()])) else DOUBLE,
    }
    if isinstance(call.outcome, Raised):
        return {**record, "raised": f"{call.outcome.type}: {call.outcome.text}"}
    return {**record, "value": _marked(call.outcome)}


def _marked(value: Any) -> Any:
    """The value with its handles as data. What cannot be sent equals nothing."""
    match value:
        case Handle(number):
            return {HANDLE: number}
        case Foreign(description):
            return {"a foreign object": description}
        case tuple() | list():
            return [_marked(item) for item in value]
    return value


def _single(value: Any) -> bool:
    """Whether there are float32 numbers in it: they give float32 results."""
    if isinstance(value, dict):
        return any(map(_single, value.values()))
    array = value.array if isinstance(value, (Laid, Counted)) else value
    return isinstance(array, np.ndarray) and array.dtype == np.float32


def diagnose(library: Library, step: Step, function: str, log: Log, check: str) -> Diagnosis | None:
    """The cause of what this failed check saw, if it is known and explains all other calls too."""
    if step.id not in library.right:
        return None
    last = log.of(check)[-1:]
    if last and isinstance(last[0].outcome, Raised) and "read-only" in last[0].outcome.text:
        return WRITES
    for causes in library.causes(step, function):
        for calls in (log.of(check), log.calls):  # afresh for all calls: a mistake may remember
            if causes:
                try:
                    causes = library.explaining(step, function, causes, calls)
                except CallFailed:
                    causes = []  # a diagnosis that fails must not hide the failed check
        if causes:
            return causes[0].diagnosis
    return None
