"""The checks that an instructor would write by hand: stored answers, and np.allclose.

For every function of a step, the first calls of its first check, with what the reference returns,
written out as Python that runs in a notebook beside the student's functions.
"""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from grader.authoring.recording import ReferenceSitting
from grader.checks.suites import Stored
from grader.isolation.client import Answer
from grader.isolation.wire import Handle
from grader.steps.registry import Registry, Step

CALLS = 2  # per function; what makes a cache for the second is not counted
ALIKE = """
def alike(got, expected):
    if isinstance(expected, tuple):
        return len(got) == len(expected) and all(map(alike, got, expected))
    return np.shape(got) == np.shape(expected) and np.allclose(got, expected)
"""


class _Taped(ReferenceSitting):
    """The reference in the student's place, and a tape of what it is asked."""

    tape: list[tuple[str, Any, Any, Answer]]

    def ask(self, function: str, *args: Any, **options: Any) -> Answer:
        answer = super().ask(function, *args, **options)
        self.tape.append((function, args, options, answer))
        return answer


def written(value: Any) -> str:
    """A value as Python."""
    match value:
        case Handle(number):
            return f"kept{number}"
        case np.ndarray() | np.generic():
            with np.printoptions(threshold=10**9, precision=12, floatmode="maxprec"):
                text = np.array2string(np.asarray(value), separator=",", max_line_width=90)
            words = {"nan": "np.nan", "inf": "np.inf"}
            for word, python in words.items():
                text = text.replace(word, python)
            return f"np.array({text}, dtype='{np.asarray(value).dtype}')"
        case dict():
            return "{" + ", ".join(f"{k!r}: {written(v)}" for k, v in value.items()) + "}"
        case tuple():
            return "(" + "".join(f"{written(item)}, " for item in value) + ")"
    return repr(value)


def _call(function: str, args: Any, options: Mapping[str, Any], answer: Answer) -> str:
    """One call, and the assertion about what it returns."""
    positional, named = args
    inside = [*map(written, positional), *(f"{k}={written(v)}" for k, v in named.items())]
    call = f"{function}({', '.join(inside)})"
    opaque = options["opaque"]
    if opaque == [True]:
        return f"{written(answer.value)} = {call}"
    if not any(opaque):
        return f"assert alike({call}, {written(answer.value)})"
    parts = list(enumerate(zip(answer.value, opaque, strict=True)))
    places = [written(part) if hide else f"out{i}" for i, (part, hide) in parts]
    shown = [(f"out{i}", part) for i, (part, hide) in parts if not hide]
    lines = [f"{', '.join(places)} = {call}"]
    return "\n".join(lines + [f"assert alike({name}, {written(v)})" for name, v in shown])


def tests_of(registry: Registry, step: Step) -> dict[str, str]:
    """Test code by function; what is opaque is passed on, not looked at."""
    found = {}
    for check in (check for check in step.checks if not check.needs):
        taped = _Taped(step, Stored(step.id), "visible", registry.limits)
        taped.tape = []
        taped.run([check])
        plain = [not all(options["opaque"]) for _, _, options, _ in taped.tape]
        enough = next(
            (i + 1 for i, n in enumerate(itertools.accumulate(plain)) if n == CALLS), None
        )
        calls = [_call(*call) for call in taped.tape[:enough]]
        found[check.function] = "\n".join(["import numpy as np", ALIKE, *calls])
    return found
