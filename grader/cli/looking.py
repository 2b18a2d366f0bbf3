"""The command `look`: draw in the terminal what the learner's functions do."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

import click

from grader.cli.paths import spell_missing
from grader.notebooks.display import Shown
from grader.notebooks.looks import LOOKS, find_look, read_captions
from grader.report.problem import Problem
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
    if step is None:
        raise Problem(f"name the step to look at: {spell_command('look', 5)}")
    try:
        found = registry.find(step)
    except ValueError as error:
        raise Problem(str(error)) from None
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
