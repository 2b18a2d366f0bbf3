"""The command `release`: write the bundle for students, or an autograder for Gradescope."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import click

from grader.authoring.bundle import writing
from grader.authoring.bundle.writing import add_needed_steps, contents
from grader.classroom.course import Course
from grader.classroom.gradescope import autograder
from grader.classroom.overrides import Override, read_overrides
from grader.cli.kit.course import course_in
from grader.cli.options import PATH
from grader.report.files import replacing
from grader.report.problem import Problem
from grader.report.sanitize import one_line
from grader.steps.registry import Step, load

OUT = "Where to write the bundle: a folder."
ZIP = "Write a Gradescope autograder instead: the zip."


@click.command("release")
@click.argument("step", nargs=-1)
@click.option("--out", type=PATH, default=Path("release"), help=OUT)
@click.option("--gradescope", type=PATH, help=ZIP)
@click.option("--course", "file", type=PATH, help="The assignment file.")
def release(step: tuple[str, ...], out: Path, gradescope: Path | None, file: Path | None) -> None:
    """Write the students' bundle, without solutions and hidden checks."""
    course, steps = course_in(file, step)
    if gradescope is not None:
        _autograder(steps, gradescope, course, file)
    else:
        _bundle(steps, out, course)


def _autograder(steps: tuple[Step, ...], path: Path, course: Course, file: Path | None) -> None:
    overrides: list[Override] = []
    if file is not None and course.overrides:
        overrides = read_overrides(file.parent / course.overrides, load())
    with replacing(path) as beside:
        beside.write_bytes(autograder([step.id for step in steps], course, overrides))
    if overrides:
        click.echo(f"with {len(overrides)} changes by hand")
    named = [*course.extensions, *(one.student for one in overrides)]
    for name in dict.fromkeys(name for name in named if "@" not in name):
        click.echo(f"note: {one_line(name, 80)} is not an address: it means nobody on Gradescope.")
    click.echo(f"wrote {path}: upload it to Gradescope, and do not give it to students")


def _bundle(steps: tuple[Step, ...], out: Path, course: Course) -> None:
    registry, asked = load(), steps
    steps = add_needed_steps(registry, asked)
    if more := [str(step.number) for step in steps if step not in asked]:
        click.echo(f"with the earlier steps that these import: {', '.join(more)}")
    click.echo("computing the answers of known mistakes, once for each version of the kit ...")
    try:
        books = writing.answers(steps, out / ".answers")
        files = contents(registry, steps, books)
        folder, archive = writing.write({**files, **_fill_assignment_texts(course, files)}, out)
    except KeyboardInterrupt:
        raise Problem("stopped; the same command continues where it stopped") from None
    click.echo(f"wrote {folder}{os.sep} and {archive}: give either to your students")
    click.echo(
        "They hold no solution, no hidden check and no code of a known mistake, but the sentences "
        "about known mistakes and the numbers by which they are recognised."
    )


def _fill_assignment_texts(course: Course, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the bundle's files with the assignment's own texts."""
    if not course.title:
        return {}
    about = [f"\n## {course.title}\n"]
    about += [f"\n{text.strip()}\n" for text in course.texts.values()]
    about += [f"\nDue {course.due}.\n"] if course.due else []
    about.append("\n`make handin` writes the zip to hand in.\n")
    data = {"title": course.title, "due": course.due, **course.texts}
    readme = files["README.md"] + "".join(about).encode("utf-8", "replace")
    return {"README.md": readme, "course.json": json.dumps(data, indent=1).encode() + b"\n"}
