"""The commands `look` and `bonus`: import the learner's functions, to draw or to judge them."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import click

from grader.cli.main import need_step
from grader.cli.paths import spell_missing
from grader.notebooks.bonuses import BONUSES, judge_bonus
from grader.notebooks.display import Shown
from grader.notebooks.looks import LOOKS, find_look, read_captions
from grader.report.problem import Problem, find_steps
from grader.report.text.terminal import Printer
from grader.steps import registry as registry_module
from grader.steps.commands import spell_command
from grader.steps.paths import EXERCISES, HOME
from grader.steps.registry import Registry, Step


@click.command()
@click.argument("step", required=False)
def look(step: str | None) -> None:
    """Draw in the terminal what your functions of a step do: weights, leaks, times."""
    registry = registry_module.load()
    (found, *_) = find_steps(registry, (need_step(step, "look"),))
    names = LOOKS.get(found.number, ())
    if not names:
        drawn = f"{min(LOOKS)} to {max(LOOKS)}"
        raise Problem(f"step {found.number} has nothing to look at; steps {drawn} have")
    printer = Printer()
    for number, (name, shown) in enumerate(_draw(registry, names)):
        if number:
            printer.line()
        if shown.drawn:
            title, _, text = read_captions()[name].partition("\n")
            printer.line(title, "bold")
            printer.line(f"{text}\n")
        for line in shown.text.splitlines():
            # A sentence is wrapped. A row of a picture is short, and its blanks count.
            printer.line(line) if len(line) > printer.width else click.echo(line)


def _draw(registry: Registry, names: tuple[str, ...]) -> Iterator[tuple[str, Shown]]:
    """Yield each picture with its name, drawn from the exercises as they are saved."""
    before = list(sys.path)
    sys.path.insert(0, str(HOME))
    try:
        for name in names:
            draw = find_look(name)
            taken = [import_function(registry, one) for one in inspect.signature(draw).parameters]
            yield name, draw(*taken)
    finally:
        sys.path[:] = before


def import_function(registry: Registry, name: str) -> Any:
    """Return the learner's function of that name. Raise Problem if it cannot be imported."""
    step = registry.homes[name]
    if not (EXERCISES / step.filename).is_file():  # the kit's own folder may be importable, too
        way = spell_missing(EXERCISES, step, registry)
        raise Problem(f"there is no exercises/{step.filename}: {way}")
    try:
        return getattr(importlib.import_module(f"exercises.{step.id}"), name)
    except Exception as error:
        raise Problem(_explain(step, name, error)) from None


def _explain(step: Step, name: str, error: Exception) -> str:
    judged = spell_command("check", step.number)
    if isinstance(error, AttributeError):
        return f"exercises/{step.filename} does not define {name}"
    what = f"{type(error).__name__}: {error}"
    return f"exercises/{step.filename} cannot be run ({what}): see `{judged}`"


@click.command()
def bonus() -> None:
    """Judge the bonus exercises in exercises/bonus.py, and say what each should do."""
    registry, printer = registry_module.load(), Printer()
    sys.path.insert(0, str(HOME))
    module, good = _import_module(), True
    for one in BONUSES:
        function = getattr(module, one.name, None)
        if function is None:
            printer.line(f"{one.header}  (part {one.part}, not there yet)", "bold")
            printer.line(one.task, indent=2)
            continue
        own = {name: import_function(registry, name) for name in one.needs}
        wrong = judge_bonus(one, function, own)
        good = good and not wrong
        printer.line(f"{one.name}: {'not yet. ' + wrong if wrong else 'right.'}")
    printer.line("\nThey earn no points. Write them in exercises/bonus.py.")
    sys.exit(0 if good else 1)


def _import_module() -> ModuleType | None:
    """Return the learner's module of bonus exercises, or None if there is none."""
    if not (EXERCISES / "bonus.py").is_file():
        return None
    try:
        return importlib.import_module("exercises.bonus")
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise Problem(f"exercises/bonus.py cannot be run ({what})") from None
