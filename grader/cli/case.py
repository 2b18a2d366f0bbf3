"""The command `case`: write the first failing case of a step as a small program."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from grader.cli.hosts import open_host
from grader.cli.paths import is_begun, read_submission, show_path, spell_missing
from grader.engine.failing_case import find_failing_case, write_program
from grader.engine.grading import make_grader
from grader.intake.submission import Submission
from grader.isolation.client import CallFailed
from grader.report.files import write_whole
from grader.report.problem import Problem, find_steps
from grader.report.text.terminal import Printer
from grader.steps.commands import quote_path, spell_command
from grader.steps.paths import EXERCISES, HOME
from grader.steps.registry import Step, load

FOLDER = "cases"


@click.command()
@click.argument("step", required=False)
def case(step: str | None) -> None:
    """Write the first failing case of a step as a small program that you can run and change.

    The default is the first step with a failing check. The program holds the inputs, the call, the
    expected result, and where yours differs. The hidden checks are never shown.
    """
    registry = load()
    wanted = find_steps(registry, (step,) if step else ())
    submission = read_submission(EXERCISES, registry)
    steps = tuple(one for one in wanted if is_begun(submission, one))
    if not steps:
        raise Problem(_say_unwritten(submission, wanted))
    with open_host(registry) as host:
        grader = make_grader(registry, host, "visible", 0, steps, thorough=False)
        for found in steps if step is None else steps[:1]:
            judged = spell_command("check", found.number)
            try:
                if found.id in submission.refused:
                    raise CallFailed
                failing = find_failing_case(grader, submission, found)
            except CallFailed:
                raise Problem(
                    f"exercises/{found.filename} cannot be run: `{judged}` says why"
                ) from None
            if failing is not None:
                break
    if failing is None:
        click.echo(f"Step {found.number} has no failing case to repeat: see `{judged}`.")
        return
    path = HOME / FOLDER / found.filename
    path.parent.mkdir(exist_ok=True)
    python = Path(sys.executable)  # that runs nopeek
    shown = quote_path(os.path.relpath(python)) if HOME in python.parents else "python"
    run, again = f"{shown} {quote_path(show_path(path))}", spell_command("case", found.number)
    told = (
        f"`{run}` runs it on your exercises as they are then, earlier steps included. "
        f"`{again}` writes it anew."
    )
    write_whole(path, [write_program(failing, told)])
    Printer().line(f"Wrote {show_path(path)}: {failing.verdict.title}")
    click.echo(f"\nRun it: {run}")


def _say_unwritten(submission: Submission, steps: Sequence[Step]) -> str:
    """Return what to do if none of these steps has been begun."""
    file = f"exercises/{steps[0].filename}"
    if len(steps) == 1 and steps[0].id not in submission.sources:
        way = spell_missing(EXERCISES, steps[0], load())
        return f"there is no {file}: {way}"
    what = f"{file} is not" if len(steps) == 1 else "nothing is"
    return f"{what} written yet: `{spell_command('check')}` says where to begin"
