"""Write a failing case as a small program: inputs, call, expected result, and differences."""

import re
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from grader.checks.tolerances import EXACT
from grader.diagnosis.calls import Call
from grader.engine.failing_case import FailingCase, held_parts
from grader.engine.failures import name_arguments, plain
from grader.isolation.wire import Handle, Laid
from grader.report.records import Status
from grader.report.text.sheet import clean
from grader.steps.registry import Step

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


def _lay(expression: str, laid: Laid) -> str:
    """Return the array with the memory layout that it had when the check failed."""
    layouts = {
        "F": f"np.asfortranarray({expression})",
        "strided": f"np.repeat({expression}, 2, axis=-1)[..., ::2]",
        "reversed": f"np.flip({expression}, -1).copy()[..., ::-1]",
    }
    return layouts.get(laid.layout, expression)


@dataclass
class _Program:
    """The lines of a program.

    names: its variables, each with the lines that make it. ways: how one writes what the worker
    holds. results: the names of the results. calls: the lines that make them.
    """

    step: Step
    lines: list[str] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)
    ways: dict[int, str] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, case: FailingCase) -> "_Program":
        """Return the program of a case's calls."""
        program = cls(case.step)
        for call in case.calls:
            program.add(call, many=len(case.calls) > 1)
        return program

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
        for number, way in held_parts(call):
            self.ways[number] = result + "".join(f"[{place}]" for place in way)

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
        """Return the lines that make a variable with this value."""
        text = write_literal(plain(value), f"{name} = ")
        if not isinstance(value, Laid):
            return [f"{name} = {text}"]
        fixed = [] if value.writable else [f"{name}.flags.writeable = False"]
        return [f"{name} = {_lay(text, value)}", *fixed]


def write_program(case: FailingCase, told: str) -> str:
    """Return the case as a program. told: how to run it and how to write it again."""
    program = _Program.of(case)
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
    program = _Program.of(case)
    lines = [line for made in program.names.values() for line in made]
    names = list(program.names)
    if case.expected is not None:
        lines.append(f"expected = {write_literal(case.expected)}")
        names.append("expected")
    calls = "; ".join(program.calls) + _spell_way(case)
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


def _spell_way(case: FailingCase) -> str:
    """Return how one writes the part of the last result that is expected, such as `[0]`."""
    return "".join(f"[{place}]" for place in case.seen)


def _show(case: FailingCase, program: _Program) -> list[str]:
    """Return the lines that print the results and their differences."""
    result, last = program.results[-1], case.calls[-1]
    result += _spell_way(case)
    if case.expected is not None:
        return [
            f"expected = {write_literal(case.expected, 'expected = ')}",
            f'print("expected", expected, "", "yours", {result}, "", sep="\\n")',
            f'compare({result}, expected, "{last.function}")',
        ]
    if case.verdict.status in (Status.TIMEOUT, Status.ERROR):
        return [f'print("yours", {result}, sep="\\n")']
    if "after" in last.more:
        given = name_arguments(case.step, last)
        return [
            f'compare({name}, {write_literal(plain(value))}, "{name}, which was an argument")'
            for name, value in given.items()
            if isinstance(plain(value), (np.ndarray, dict))
        ]
    if case.shown < 2:
        return [f'print("yours", {result}, sep="\\n")']
    first = program.results[-2]
    return [
        "# The check compares the results of these two calls: see above what it says of them.",
        f'print("{first}", {first}, "", "{result}", {result}, sep="\\n")',
        f'compare({result}, {first}, "{last.function}")',
    ]
