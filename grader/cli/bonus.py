"""The command `bonus`: check exercises beyond the steps, without points."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import click

from grader.cli.looking import import_function
from grader.notebooks.bonuses import BONUSES, judge_bonus
from grader.report.problem import Problem
from grader.report.text.terminal import Printer
from grader.steps import registry as registry_module
from grader.steps.paths import EXERCISES, HOME


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
