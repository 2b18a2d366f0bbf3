"""The commands `look` and `bonus`: import the learner's functions, to draw or to judge them."""

import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

import click

from grader.cli.options import need_steps
from grader.cli.paths import spell_missing
from grader.notebooks.bonuses import BONUSES, judge_bonus
from grader.notebooks.looks import LOOKS, find_look, read_captions
from grader.report.problem import Problem
from grader.report.text.terminal import Printer
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES, HOME
from grader.steps.registry import Step, load


@click.command()
@click.argument("step", required=False)
def look(step: str | None) -> None:
    """Draw in the terminal what your functions of a step do: weights, leaks, times."""
    found, *_ = need_steps(step, "look")
    names = LOOKS.get(found.number, ())
    if not names:
        drawn = f"{min(LOOKS)} to {max(LOOKS)}"
        raise Problem(f"step {found.number} has nothing to look at; steps {drawn} have")
    printer = Printer()
    for number, name in enumerate(names):
        draw = find_look(name)
        shown = draw(*map(import_function, inspect.signature(draw).parameters))
        if number:
            printer.line()
        if shown.drawn:
            title, _, text = read_captions()[name].partition("\n")
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
        own = {name: import_function(name) for name in one.needs}
        wrong = judge_bonus(one, function, own)
        good = good and not wrong
        printer.line(f"{one.name}: {'not yet. ' + wrong if wrong else 'right.'}")
    printer.line("\nThey earn no points. Write them in exercises/bonus.py.")
    sys.exit(0 if good else 1)
