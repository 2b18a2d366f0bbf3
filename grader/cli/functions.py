"""The commands `look`, `try` and `bonus`: import a learner's functions, to draw, run or judge."""

import ast
import builtins
import code
import contextlib
import doctest
import importlib
import inspect
import io
import json
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any
from unittest.mock import patch

import click
import numpy as np

from grader.cli.options import need_steps
from grader.cli.paths import spell_missing
from grader.look import LOOKS, PICTURES
from grader.notebooks.bonuses import BONUSES, judge_bonus
from grader.notebooks.pictures import CAPTIONS
from grader.report.problem import Problem
from grader.report.text.terminal import Printer
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES, HOME
from grader.steps.registry import Step, load
from grader.steps.stubs import stub_of

ASKED = re.compile(r"\*\*Try first:\*\* (.*?)(?=\n#?\n)", re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")


@click.command()
@click.argument("step", required=False)
def look(step: str | None) -> None:
    """Draw in the terminal what your functions of a step do: weights, leaks, times."""
    found, *_ = need_steps(step, "look")
    names = LOOKS.get(found.number, ())
    if not names:
        drawn = f"{min(LOOKS)} to {max(LOOKS)}"
        raise Problem(f"step {found.number} has nothing to look at; steps {drawn} have")
    printer, captions = Printer(), json.loads(CAPTIONS.read_text(encoding="utf-8"))
    for number, name in enumerate(names):
        draw = PICTURES[name]
        shown = draw(*map(import_function, inspect.signature(draw).parameters))
        if number:
            printer.line()
        if shown.drawn:
            title, _, text = captions[name].partition("\n")
            printer.line(title, "bold")
            printer.line(f"{text}\n")
        for line in shown.text.splitlines():
            # A sentence is wrapped. A row of a picture is short, and its blanks count.
            printer.line(line) if len(line) > printer.width else click.echo(line)


def import_step(step: Step) -> ModuleType:
    """Return the learner's module of a step. Raise Problem if it cannot be imported."""
    if not (EXERCISES / step.filename).is_file():  # the kit's own folder may be importable, too
        way = spell_missing(EXERCISES, step, load())
        raise Problem(f"there is no exercises/{step.filename}: {way}")
    return _import(step.id, f": see `{spell_command('check', step.number)}`")


def import_function(name: str) -> Any:
    """Return the learner's function of that name. Raise Problem if it cannot be imported."""
    step = load().homes[name]
    function = getattr(import_step(step), name, None)
    if function is None:
        raise Problem(f"exercises/{step.filename} does not define {name}")
    return function


def _import(name: str, see: str = "") -> ModuleType:
    if str(HOME) not in sys.path:
        sys.path.insert(0, str(HOME))
    try:
        return importlib.import_module(f"exercises.{name}")
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise Problem(f"exercises/{name}.py cannot be run ({what}){see}") from None


def list_trials(step: Step) -> Iterator[tuple[str, str, str]]:
    """Yield each function, what the lesson asks to try with it, and its docstring's examples."""
    text = stub_of(step)
    wanted = {function.name for function in step.functions}
    begin, lines = 0, text.splitlines(keepends=True)
    for one in ast.parse(text).body:
        if isinstance(one, ast.FunctionDef) and one.name in wanted:
            found = ASKED.search("".join(lines[begin : one.lineno]))
            told = " ".join(found[1].replace("\n# ", " ").split()) if found else ""
            yield one.name, told, ast.get_docstring(one) or ""
            begin = one.lineno


def find_line(function: str, told: str, names: Mapping[str, Any]) -> str:
    """Return the call in a lesson's sentence that can be run with these names, or ""."""
    for line in SPAN.findall(told):
        with contextlib.suppress(SyntaxError):
            tree = ast.parse(line, mode="eval")
            used = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
            whole = not any(getattr(one, "value", "") is ... for one in ast.walk(tree))
            if f"{function}(" in line and whole and used <= {*names, *dir(builtins)}:
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
        return f"{traceback.extract_tb(error.__traceback__)[-1].name}: still to be written."
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
    found, *_ = need_steps(step, "try")
    names = dict(vars(import_step(found)))
    with np.printoptions(precision=3, suppress=True):
        for trial in list_trials(found):
            try_function(Printer(), *trial, names)
        if sys.stdin.isatty() and sys.stdout.isatty():
            with contextlib.suppress(ImportError):  # Windows has none; arrow keys work there anyway
                importlib.import_module("readline")
            anew = f"`{spell_command('try', found.number)}` reads your file anew."
            with contextlib.suppress(SystemExit):
                code.interact(
                    f"\nYour functions and np. exit() leaves; {anew}", local=names, exitmsg=""
                )


def try_function(
    printer: Printer, function: str, told: str, examples: str, names: dict[str, Any]
) -> None:
    """Print what to try with a function, and what the lesson's own line gives.

    The line may use the names that the examples give to something.
    """
    if function not in names:
        printer.line(f"{function}: your file does not define it.", "red")
        return
    for one in doctest.DocTestParser().get_examples(examples):
        run_line(one.source, names)
    if told:
        printer.line(f"Try first: {told.replace('`', '')}")
    if line := find_line(function, told, names):
        for row in (f">>> {line}", *run_line(line, names).splitlines()):
            printer.row(f"    {row}")


@click.command()
def bonus() -> None:
    """Judge the bonus exercises in exercises/bonus.py, and say what each should do."""
    printer, good = Printer(), True
    module = _import("bonus") if (EXERCISES / "bonus.py").is_file() else None
    for one in BONUSES:
        function = getattr(module, one.name, None)
        if function is None:
            printer.line(f"{one.header}  (part {one.part}, not there yet)", "bold")
            printer.line(one.task, indent=2)
            continue
        wrong = judge_bonus(one, function, {name: import_function(name) for name in one.needs})
        good = good and not wrong
        printer.line(f"{one.name}: {'not yet. ' + wrong if wrong else 'right.'}")
    printer.line("\nThey earn no points. Write them in exercises/bonus.py.")
    sys.exit(0 if good else 1)
