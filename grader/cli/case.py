"""The command `case`: write the first failing case of a step as a small program."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.hosts import open_host
from grader.cli.paths import is_begun, read_submission, spell_missing, write_text
from grader.report.problem import Problem, find_steps
from grader.steps import registry as registry_module
from grader.steps.commands import quote_path, spell_command
from grader.steps.paths import EXERCISES, HOME
from grader.steps.registry import Step

if TYPE_CHECKING:
    from grader.intake.submission import Submission

FOLDER = "cases"


@click.command()
@click.argument("step", required=False)
def case(step: str | None) -> None:
    """Write the first failing case of a step as a small program that you can run and change.

    The default is the first step with a failing check. The program holds the inputs, the call, the
    expected result, and where yours differs. The hidden checks are never shown.
    """
    registry = registry_module.load()
    steps = find_steps(registry, (step,) if step else ())
    submission = read_submission(EXERCISES, registry)
    steps = _list_begun(submission, steps)
    found = steps[0]
    with open_host(registry) as host:
        from grader.engine import grading
        from grader.engine.failing_case import find_failing_case
        from grader.isolation.client import CallFailed

        grader = grading.make_grader(registry, host, "visible", 0, steps, thorough=False)
        for found in steps if step is None else steps[:1]:
            if found.id not in submission.sources:
                raise Problem(_cannot(found))
            try:
                failing = find_failing_case(grader, submission, found)
            except CallFailed:
                raise Problem(_cannot(found)) from None
            if failing is not None:
                break
    if failing is None:
        judged = spell_command("check", found.number)
        click.echo(f"Step {found.number} has no failing case to repeat: see `{judged}`.")
        return
    from grader.engine.case_program import write_program
    from grader.report.text.terminal import Printer

    path = HOME / FOLDER / found.filename
    run = _spell_run(path)
    again = spell_command("case", found.number)
    told = (
        f"`{run}` runs it on your exercises as they are then, earlier steps included. "
        f"`{again}` writes it anew."
    )
    write_text(path, write_program(failing, told), make_folder=True)
    Printer().line(f"Wrote {_show(path)}: {failing.verdict.title}")
    click.echo(f"\nRun it: {run}")


def _list_begun(submission: Submission, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that have been begun, readable or not. Raise Problem if there are none."""
    begun = tuple(step for step in steps if is_begun(submission, step))
    if begun:
        return begun
    first = steps[0]
    if len(steps) == 1 and first.id not in submission.sources:
        way = spell_missing(EXERCISES, first, registry_module.load())
        raise Problem(f"there is no exercises/{first.filename}: {way}")
    what = f"exercises/{first.filename} is not" if len(steps) == 1 else "nothing is"
    raise Problem(f"{what} written yet: `{spell_command('check')}` says where to begin")


def _cannot(step: Step) -> str:
    judged = spell_command("check", step.number)
    return f"exercises/{step.filename} cannot be run: `{judged}` says why"


def _show(path: Path) -> str:
    """Return the path relative to the current folder."""
    try:
        return os.path.relpath(path)
    except ValueError:  # another drive
        return str(path)


def _spell_run(path: Path) -> str:
    """Return the command that runs a file with the Python that runs nopeek."""
    python = Path(sys.executable)
    inside = HOME in python.parents
    return f"{quote_path(_show(python)) if inside else 'python'} {quote_path(_show(path))}"
