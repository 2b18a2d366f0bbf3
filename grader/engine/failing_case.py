"""Find the first failing visible case of a step, and write it as a small program.

The program has the inputs, the calls, the expected result, and differences. Hidden checks are never
shown.
"""

import contextlib
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.checks.compare import WrongResult
from grader.checks.tolerances import EXACT
from grader.diagnosis.calls import FETCH, Call
from grader.engine.failures import FailedCheck, name_arguments, plain
from grader.engine.grading import Grader
from grader.intake.submission import Submission
from grader.isolation.client import Died, Raised, TimedOut
from grader.isolation.wire import Handle, Laid
from grader.report.records import CheckVerdict, Status
from grader.report.text.sheet import clean
from grader.steps.registry import KitError, Step
from grader.steps.tree import leaves

MOST_CALLS = 60  # of a program that somebody reads
WIDTH = 88
COMPARE = '''
def compare(one, other, name):
    """Print where a result differs from another."""
    if isinstance(other, dict):
        for key in other:
            if isinstance(one, dict) and key in one:
                compare(one[key], other[key], f"{name}[{key!r}]")
            else:
                print(f"{name}: there is no {key!r}")
    elif isinstance(other, (tuple, list)):
        if not isinstance(one, (tuple, list)) or len(one) != len(other):
            print(f"{name}: expected {len(other)} results")
            return
        for number, item in enumerate(other):
            compare(one[number], item, f"{name}[{number}]")
    elif np.shape(one) != np.shape(other):
        print(f"{name}: the shape is {np.shape(one)}, expected {np.shape(other)}")
    elif np.asarray(other).dtype.kind in "biuf" and np.asarray(one).dtype.kind in "biuf":
        near = np.isclose(one, other, rtol=RTOL, atol=ATOL, equal_nan=True)
        places = [tuple(map(int, place)) for place in np.argwhere(~near)]
        print(f"{name}:", f"differs at {places[:20]}" if places else "no number differs")
'''
START = """import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from exercises.{module} import {names}
"""


@dataclass(frozen=True)
class FailingCase:
    """A failing check as calls, in order.

    shown: how many of the last calls the check compares; the others make what these take. expected:
    the right result of the last call, or None if a law compares two results. seen: the path to the
    part of the result that is expected, such as `[0]`.
    """

    step: Step
    verdict: CheckVerdict
    calls: tuple[Call, ...]
    shown: int = 1
    expected: Any = None
    seen: str = ""


def find_failing_case(grader: Grader, submission: Submission, step: Step) -> FailingCase | None:
    """Return the first failing case of a step, on the kit's earlier steps or on the learner's own.

    Return None if no check fails, or if its calls cannot be repeated. Raise CallFailed if the step
    cannot be loaded.
    """
    if grader.bench.suite != "visible":
        raise KitError("only a visible case may be shown")
    for right in (grader.right, grader.find_missing(submission)):
        trial = grader.bench.run(grader.attempt(submission, step, right), step.checks)
        if trial.failure is not None:
            raise trial.failure
        if trial.first_failed is not None:
            return _case_of(step, trial.first_failed)
    return None


def _case_of(step: Step, failed: FailedCheck) -> FailingCase | None:
    """Return the calls that show the failure: one, or two if a law compares their results."""
    known = [call for call in failed.calls if call.function != FETCH]
    own = [call for call in failed.calls[failed.start :] if call.function != FETCH]
    unanswered = failed.asked if isinstance(failed.error, (TimedOut, Died)) else None
    asked = [unanswered] if unanswered else own[-2:]
    if not asked or failed.verdict is None:
        return None
    wrong, seen = failed.error, ""
    about_one, expected = isinstance(wrong, WrongResult), None
    if isinstance(wrong, WrongResult):
        for call in own:
            for way, part in _parts_of(call.outcome):
                if part is wrong.got:
                    asked, expected, seen = [call], wrong.right, way
    last = asked[-1]
    if isinstance(last.outcome, Raised):
        with contextlib.suppress(Exception):  # nothing is stored of a call with a cache, say
            arguments = plain(name_arguments(step, last))
            expected = failed.given and failed.given.expect(last.function, arguments)
    alone = about_one or isinstance(last.outcome, Raised) or {"before", "after"} & last.more.keys()
    if alone or asked[0].function != last.function:
        asked = [last]
    calls = _with_makers(asked, known)
    if calls is None or len(calls) > MOST_CALLS:
        return None
    return FailingCase(step, failed.verdict, tuple(calls), len(asked), expected, seen)


def _parts_of(outcome: Any) -> Iterator[tuple[str, Any]]:
    """Yield a result, and if it has several parts each of them, with the path to it."""
    yield "", outcome
    if isinstance(outcome, (tuple, list)):
        yield from ((f"[{place}]", part) for place, part in enumerate(outcome))


def _held_parts(call: Call) -> Iterator[tuple[int, str]]:
    """Yield the numbers of the parts of the result that later calls take, and the path to each."""
    if isinstance(call.more.get("kept"), int):
        yield call.more["kept"], ""
    for way, part in _parts_of(call.outcome):
        if isinstance(part, Handle):
            yield part.number, way


def _with_makers(asked: Sequence[Call], known: Sequence[Call]) -> list[Call] | None:
    """Return the calls after those that make their arguments; None if one of these is not known."""
    makers = {number: place for place, call in enumerate(known) for number, _ in _held_parts(call)}
    wanted = {place for place, call in enumerate(known) if any(call is one for one in asked)}
    open_calls = list(asked)
    while open_calls:
        call = open_calls.pop()
        for leaf in leaves([list(call.args), dict(call.kwargs)]):
            if not isinstance(leaf, Handle):
                continue
            if leaf.number not in makers:
                return None
            if makers[leaf.number] not in wanted:
                wanted.add(makers[leaf.number])
                open_calls.append(known[makers[leaf.number]])
    calls = [known[place] for place in sorted(wanted)]
    return calls + [call for call in asked if not any(call is one for one in calls)]


def write_literal(value: Any, before: str = "") -> str:
    """Return an expression that makes this value; arrays as in a lesson, row by row.

    before: the text to the left on the same line.
    """
    if isinstance(value, np.ndarray) and not value.size:
        return f"np.zeros({value.shape}, dtype=np.{value.dtype.name.replace('bool', 'bool_')})"
    if isinstance(value, Mapping):
        inner = ",\n".join(
            f"{key!r}: {write_literal(item, f'{key!r}: ')}" for key, item in value.items()
        )
        return f"{{\n{textwrap.indent(inner, '    ')},\n}}" if value else "{}"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(write_literal, value))
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    with np.printoptions(threshold=sys.maxsize, linewidth=WIDTH - len(before), floatmode="unique"):
        text = re.sub(r"(?<!\.)\b(array|nan|inf|[a-z]+\d+)\b(?!')", r"np.\1", repr(value))
    return textwrap.indent(text, " " * len(f"{before}np."), lambda line: line[:1] == " ")


class _Program:
    """The lines of a program that makes a case's calls."""

    def __init__(self, case: FailingCase) -> None:
        self.step = case.step
        self.lines: list[str] = []
        self.names: dict[str, list[str]] = {}  # its variables, each with the lines that make it
        self.ways: dict[int, str] = {}  # how one writes what the worker holds
        self.results: list[str] = []  # the names of the results
        self.calls: list[str] = []  # the lines that make these
        for call in case.calls:
            self.add(call, many=len(case.calls) > 1)

    def add(self, call: Call, *, many: bool) -> None:
        """Add a call, and the arguments that are not there yet."""
        before = call.more.get("before")
        arguments = name_arguments(self.step, call)
        args, kwargs = before or (call.args, call.kwargs)
        first = name_arguments(self.step, replace(call, args=args, kwargs=kwargs))
        given = {name: self._name(name, value) for name, value in first.items()}
        if before:
            self.lines.append(f"before = {self._spell(call.function, given)}")
            for name, value in arguments.items():
                if isinstance(plain(value), np.ndarray):
                    self.lines.append(f"{given[name]}[...] = {write_literal(plain(value))}")
        result = f"result_{len(self.results) + 1}" if many else "result"
        self.calls.append(f"{result} = {self._spell(call.function, given)}")
        self.lines.append(self.calls[-1])
        self.results.append(result)
        for number, way in _held_parts(call):
            self.ways[number] = result + way

    def _spell(self, function: str, given: Mapping[str, str]) -> str:
        required = self.step.function(function).takes
        parts = [text if name in required else f"{name}={text}" for name, text in given.items()]
        return f"{function}({', '.join(parts)})"

    def _name(self, name: str, value: Any) -> str:
        """Return the variable that holds this value, or a new one."""
        if isinstance(value, Handle):
            return self.ways[value.number]
        if value is None or isinstance(value, (bool, int, float)):
            return write_literal(value)
        number, wanted = 1, name
        while self.names.get(wanted, lines := self._assign(wanted, value)) != lines:
            number += 1
            wanted = f"{name}_{number}"
        if wanted not in self.names:
            self.names[wanted] = lines
            self.lines += lines
        return wanted

    def _assign(self, name: str, value: Any) -> list[str]:
        """Return the lines that make a variable with this value, in the same memory layout."""
        text = write_literal(plain(value), f"{name} = ")
        if not isinstance(value, Laid):
            return [f"{name} = {text}"]
        layouts = {
            "F": f"np.asfortranarray({text})",
            "strided": f"np.repeat({text}, 2, axis=-1)[..., ::2]",
            "reversed": f"np.flip({text}, -1).copy()[..., ::-1]",
        }
        fixed = [] if value.writable else [f"{name}.flags.writeable = False"]
        return [f"{name} = {layouts.get(value.layout, text)}", *fixed]


def write_program(case: FailingCase, told: str) -> str:
    """Return the case as a program. told: how to run it and how to write it again."""
    program = _Program(case)
    names = ", ".join(dict.fromkeys(call.function for call in case.calls))
    parts = [
        _describe(case, told),
        START.format(module=case.step.id, names=names),
        COMPARE.replace("RTOL", f"{EXACT.rtol:g}").replace("ATOL", f"{EXACT.atol:g}") + "\n",
        "\n".join(program.lines) + "\n",
        "\n".join(_show(case, program)),
    ]
    return "\n".join(parts) + "\n"


def write_variables(case: FailingCase) -> tuple[str, list[str], str]:
    """Return the lines that make the arguments, their names, and the calls as a person types them.

    `expected` is among the names if a single right result is known.
    """
    program = _Program(case)
    lines = [line for made in program.names.values() for line in made]
    names = list(program.names)
    if case.expected is not None:
        lines.append(f"expected = {write_literal(case.expected)}")
        names.append("expected")
    calls = "; ".join(program.calls) + case.seen
    return "\n".join(["import numpy as np", *lines]) + "\n", names, calls


def _describe(case: FailingCase, told: str) -> str:
    """Return the program's docstring: the failing check and its message."""
    step, verdict = case.step, case.verdict
    texts = [
        f"Step {step.number}, {step.title}: a check that fails, as a program.",
        f"The check: {verdict.title}",
        f"It says: {verdict.message}",
        told,
    ]
    safe = (clean(text).replace("\\", "\\\\").replace('"""', "'''") for text in texts)
    return '"""' + "\n\n".join(textwrap.fill(text, WIDTH) for text in safe) + '\n"""\n'


def _show(case: FailingCase, program: _Program) -> list[str]:
    """Return the lines that print the results and their differences."""
    result, last = program.results[-1] + case.seen, case.calls[-1]
    if case.expected is not None:
        return [
            f"expected = {write_literal(case.expected, 'expected = ')}",
            f'print("expected", expected, "", "yours", {result}, "", sep="\\n")',
            f'compare({result}, expected, "{last.function}")',
        ]
    ended = case.verdict.status in (Status.TIMEOUT, Status.ERROR)
    if "after" in last.more and not ended:
        given = name_arguments(case.step, last)
        return [
            f'compare({name}, {write_literal(plain(value))}, "{name}, which was an argument")'
            for name, value in given.items()
            if isinstance(plain(value), (np.ndarray, dict))
        ]
    if ended or case.shown < 2:
        return [f'print("yours", {result}, sep="\\n")']
    first = program.results[-2]
    return [
        "# The check compares the results of these two calls: see above what it says of them.",
        f'print("{first}", {first}, "", "{result}", {result}, sep="\\n")',
        f'compare({result}, {first}, "{last.function}")',
    ]
