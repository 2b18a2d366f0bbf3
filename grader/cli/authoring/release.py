"""The command `release`: the bundle for students, or an autograder for Gradescope."""

from __future__ import annotations

import os
from pathlib import Path

import click

from grader.report.problem import Problem, steps_named
from grader.steps import registry as registry_module
from grader.steps.registry import Step

OUT = "Where to write the bundle: a folder."
ZIP = "Write a Gradescope autograder instead: the zip."


@click.command("release")
@click.argument("step", nargs=-1)
@click.option("--out", type=click.Path(path_type=Path), default=Path("release"), help=OUT)
@click.option("--gradescope", type=click.Path(path_type=Path), help=ZIP)
def release(step: tuple[str, ...], out: Path, gradescope: Path | None) -> None:
    """Writes the students' bundle of the steps named, or all: no solutions, no hidden checks."""
    steps = steps_named(registry_module.load(), step)
    try:
        if gradescope is not None:
            _autograder(steps, gradescope)
        else:
            _bundle(steps, out)
    except OSError as error:
        raise Problem(f"cannot use {error.filename}: {error.strerror}") from None


def _autograder(steps: tuple[Step, ...], path: Path) -> None:
    from grader.classroom.gradescope import autograder

    path.write_bytes(autograder([step.id for step in steps]))
    click.echo(f"wrote {path}: upload it to Gradescope, and give it to no student")


def _bundle(steps: tuple[Step, ...], out: Path) -> None:
    from grader.authoring.bundle.contents import contents, with_needed
    from grader.authoring.bundle.writing import ReleaseError, answers, write

    registry, asked = registry_module.load(), steps
    steps = with_needed(registry, asked)
    if more := [str(step.number) for step in steps if step not in asked]:
        click.echo(f"with the earlier steps that these import: {', '.join(more)}")
    click.echo("writing down what known mistakes answer, once for every version of the kit ...")
    try:
        books = answers(steps, out / ".answers", lambda name: click.echo(f"  {name}"))
        folder, archive = write(contents(registry, steps, books), out)
    except ReleaseError as error:
        raise Problem(str(error)) from None
    except KeyboardInterrupt:
        raise Problem("stopped; the same command goes on where it was") from None
    click.echo(f"wrote {folder}{os.sep} and {archive}: give either to your students")
