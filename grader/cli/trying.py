"""The command `try`: run the lines that a lesson asks to try first, then leave a prompt open."""

from __future__ import annotations

import ast
import builtins
import code
import contextlib
import doctest
import importlib
import io
import re
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import click
import numpy as np

from grader.cli.looking import import_function
from grader.cli.main import need_step
from grader.report.problem import find_steps
from grader.report.text.terminal import Printer
from grader.steps import registry as registry_module
from grader.steps.commands import spell_command
from grader.steps.paths import HOME
from grader.steps.registry import Step
from grader.steps.stubs import stub_of

ASKED = re.compile(r"\*\*Try first:\*\* (.*?)(?=\n#?\n)", re.DOTALL)
UNWRITTEN = "{}: still to be written."
SPAN = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class FirstTry:
    """Hold what to try with a function: the lesson's sentence, and the docstring's examples."""

    function: str
    told: str
    examples: str


def list_trials(step: Step) -> list[FirstTry]:
    """Return what the lesson asks to try, function by function, in the order of its file."""
    text = stub_of(step)
    wanted = {function.name for function in step.functions}
    trials, begin, lines = [], 0, text.splitlines(keepends=True)
    for one in ast.parse(text).body:
        if isinstance(one, ast.FunctionDef) and one.name in wanted:
            found = ASKED.search("".join(lines[begin : one.lineno]))
            told = " ".join(found[1].replace("\n# ", " ").split()) if found else ""
            trials.append(FirstTry(one.name, told, ast.get_docstring(one) or ""))
            begin = one.lineno
    return trials


def find_line(trial: FirstTry, names: Mapping[str, Any]) -> str:
    """Return the call in a lesson's sentence that can be run with these names, or ""."""
    for line in SPAN.findall(trial.told):
        with contextlib.suppress(SyntaxError):
            tree = ast.parse(line, mode="eval")
            used = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
            whole = not any(getattr(one, "value", "") is ... for one in ast.walk(tree))
            if f"{trial.function}(" in line and whole and used <= {*names, *dir(builtins)}:
                return str(line)
    return ""


def run_line(line: str, names: dict[str, Any]) -> str:
    """Return what a line prints at a prompt with these names; of an error, one line.

    A number of NumPy's is shown as a plain one. For a stub, say which function is to be written.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), patch("sys.displayhook", _show):
            exec(compile(line, "<line>", "single"), names)
    except NotImplementedError as error:
        return UNWRITTEN.format(traceback.extract_tb(error.__traceback__)[-1].name)
    except Exception as error:
        return f"{type(error).__name__}: {error}".rstrip(": ")
    return said.getvalue().rstrip("\n")


def _show(value: object) -> None:
    if value is not None:
        print(str(value) if isinstance(value, np.generic) else repr(value))


@click.command("try")
@click.argument("step", required=False)
def try_step(step: str | None) -> None:
    """Run the lines that a lesson asks to try first, on your own functions.

    On a terminal, a Python prompt with your functions stays open afterwards.
    """
    registry, printer = registry_module.load(), Printer()
    (found, *_) = find_steps(registry, (need_step(step, "try"),))
    sys.path.insert(0, str(HOME))
    import_function(registry, found.functions[0].name)  # or one sentence that says why not
    names = dict(vars(importlib.import_module(f"exercises.{found.id}")))
    with np.printoptions(precision=3, suppress=True):
        for trial in list_trials(found):
            try_function(printer, trial, names)
        if sys.stdin.isatty() and sys.stdout.isatty():
            _open_prompt(found, names)


def try_function(printer: Printer, trial: FirstTry, names: dict[str, Any]) -> None:
    """Print how a function does in its examples, and what the lesson's own line gives."""
    if trial.function not in names:
        printer.line(f"{trial.function}: your file does not define it.", "red")
        return
    examples = doctest.DocTestParser().get_examples(trial.examples)
    tried = [(one, run_line(one.source, names)) for one in examples]
    wrong = [(one, got) for one, got in tried if got != one.want.rstrip("\n")]
    if UNWRITTEN.format(trial.function) in (got for _, got in wrong):
        printer.line(UNWRITTEN.format(trial.function), "dim")
        return
    if wrong:
        printer.line(f"{trial.function}: an example of its docstring comes out otherwise.", "red")
        _compare(printer, *wrong[0])
    elif count := sum(bool(one.want) for one in examples):
        printer.line(f"{trial.function}: right in {count} example{'s' * (count > 1)}.", "green")
    if trial.told:
        printer.line(f"Try first: {trial.told.replace('`', '')}", indent=2)
    if line := find_line(trial, names):
        for row in (f">>> {line}", *run_line(line, names).splitlines()):
            printer.row(f"    {row}")


def _compare(printer: Printer, example: doctest.Example, got: str) -> None:
    """Print an example, what it should give, and what it gives."""
    for row in example.source.splitlines():
        printer.row(f"    >>> {row}")
    for name, text in (("expected", example.want), ("got", got)):
        for number, row in enumerate(text.splitlines() or ["nothing"]):
            printer.row(f"    {'' if number else name:<8} {row}")


def _open_prompt(step: Step, names: dict[str, Any]) -> None:
    """Leave the learner at a prompt with these names."""
    with contextlib.suppress(ImportError):  # Windows has none; arrow keys work there anyway
        importlib.import_module("readline")
    again = spell_command("try", step.number)
    banner = f"\nYour functions and np. exit() leaves; `{again}` reads your file anew."
    with contextlib.suppress(SystemExit):
        code.interact(banner, local=names, exitmsg="")
