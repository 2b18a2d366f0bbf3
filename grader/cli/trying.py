"""The command `try`: run the lines that a lesson asks to try first, then leave a prompt open."""

from __future__ import annotations

import ast
import builtins
import code
import contextlib
import doctest
import importlib
import re
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from grader.cli.looking import import_function
from grader.report.problem import Problem, find_steps
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


class _Runner(doctest.DocTestRunner):
    """Runs the examples of a docstring, and keeps those that come out otherwise."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.wrong: list[tuple[str, str, str]] = []

    def report_failure(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:
        """Keep an example that gives something else."""
        self.wrong.append((example.source, example.want, got))

    def report_unexpected_exception(
        self, out: Any, test: Any, example: doctest.Example, exc_info: Any
    ) -> None:
        """Keep an example that raises an error."""
        self.wrong.append((example.source, example.want, _name_error(exc_info[1])))


def _name_error(error: BaseException) -> str:
    """Return an error in a line; of a stub, which function is still to be written."""
    if isinstance(error, NotImplementedError) and error.__traceback__:
        return UNWRITTEN.format(traceback.extract_tb(error.__traceback__)[-1].name)
    return f"{type(error).__name__}: {error}".rstrip(": ")


def run_examples(trial: FirstTry, names: dict[str, Any]) -> tuple[int, list[tuple[str, str, str]]]:
    """Run a docstring's examples in a namespace; return how many have a result, and the wrong ones.

    A wrong one is its line, the expected result and the one that came.
    """
    parsed = doctest.DocTestParser().get_doctest(trial.examples, {}, trial.function, None, None)
    parsed.globs = names
    runner = _Runner()
    runner.run(parsed, out=lambda text: None, clear_globs=False)
    return sum(bool(example.want) for example in parsed.examples), runner.wrong


@click.command("try")
@click.argument("step", required=False)
def try_step(step: str | None) -> None:
    """Run the lines that a lesson asks to try first, on your own functions.

    On a terminal, a Python prompt with your functions stays open afterwards.
    """
    if step is None:
        raise Problem(f"name the step whose lines to try: {spell_command('try', 1)}")
    registry, printer = registry_module.load(), Printer()
    (found, *_) = find_steps(registry, (step,))
    sys.path.insert(0, str(HOME))
    import_function(registry, found.functions[0].name)  # or one sentence that says why not
    names = dict(vars(importlib.import_module(f"exercises.{found.id}")))
    with np.printoptions(precision=3, suppress=True):
        for trial in list_trials(found):
            _try(printer, trial, names)
        if sys.stdin.isatty() and sys.stdout.isatty():
            _open_prompt(found, names)


def _try(printer: Printer, trial: FirstTry, names: dict[str, Any]) -> None:
    """Print how a function does in its examples, and what the lesson's own line gives."""
    if trial.function not in names:
        printer.line(f"{trial.function}: your file does not define it.", "red")
        return
    count, wrong = run_examples(trial, names)
    if any(got == UNWRITTEN.format(trial.function) for _, _, got in wrong):
        printer.line(UNWRITTEN.format(trial.function), "dim")
        return
    if wrong:
        printer.line(f"{trial.function}: an example of its docstring comes out otherwise.", "red")
        _compare(printer, *wrong[0])
    elif count:
        printer.line(f"{trial.function}: right in {count} example{'s' * (count > 1)}.", "green")
    if trial.told:
        printer.line(f"Try first: {trial.told.replace('`', '')}", indent=2)
    if line := find_line(trial, names):
        for row in (f">>> {line}", *_evaluate(line, names).splitlines()):
            printer.row(f"    {row}")


def _compare(printer: Printer, line: str, want: str, got: str) -> None:
    """Print an example, what it should give, and what it gives."""
    for row in line.splitlines():
        printer.row(f"    >>> {row}")
    for name, text in (("expected", want), ("got", got)):
        for number, row in enumerate(text.splitlines() or ["nothing"]):
            printer.row(f"    {'' if number else name:<8} {row}")


def _evaluate(line: str, names: dict[str, Any]) -> str:
    """Return what a line gives, as a prompt would print it."""
    try:
        value = eval(line, names)
    except Exception as error:
        return _name_error(error)
    return str(value) if isinstance(value, np.generic) else repr(value)


def _open_prompt(step: Step, names: dict[str, Any]) -> None:
    """Leave the learner at a prompt with these names."""
    with contextlib.suppress(ImportError):  # Windows has none; arrow keys work there anyway
        importlib.import_module("readline")
    again = spell_command("try", step.number)
    banner = f"\nYour functions and np. exit() leaves; `{again}` reads your file anew."
    with contextlib.suppress(SystemExit):
        code.interact(banner, local=names, exitmsg="")
