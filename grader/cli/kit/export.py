"""The command that hands results on: `export`."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import click

from grader.classroom.exports import FORMATS, Each, ExportError, Into, Merged, One, Options
from grader.cli.kit.grade import gradebook_in
from grader.report.files import write_whole
from grader.report.names import safe_name
from grader.report.problem import Problem
from grader.report.records import Graded
from grader.report.sanitize import one_line
from grader.steps import registry as registry_module

SHOWN = 20  # names of a list on the terminal
INTO = "Canvas, Moodle: the file that you downloaded there; it is read, and stays as it is."
OUT = "Where to write: a file, or a folder."


def _students(heading: str, students: tuple[str, ...]) -> None:
    """A list of students on the terminal, if there is anybody in it."""
    if students:
        click.echo(f"{heading} ({len(students)}):")
        for student in students[:SHOWN]:
            click.echo(f"  {one_line(student, 80)}")
        if len(students) > SHOWN:
            click.echo(f"  … and {len(students) - SHOWN} more")


def _each(kind: Each, class_: Iterable[Graded], options: Options, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    count, without = 0, []
    for graded in class_:
        text = kind.write(graded, options)
        if text is None:
            without.append(graded.student)
            continue
        write_whole(out / f"{safe_name(graded.student)}.json", [text])
        count += 1
    click.echo(f"wrote {count} files into {out}{os.sep}")
    _students("not gradable, so without a file", tuple(without))


def _one(kind: One, class_: Iterable[Graded], options: Options, out: Path) -> None:
    path = out / kind.file if out.is_dir() else out
    write_whole(path, kind.write(class_, options))
    click.echo(f"wrote {path}")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise Problem(
            f"{path} is not UTF-8 text: download it again, and do not re-save it"
        ) from None


def _into(kind: Into, class_: Iterable[Graded], options: Options, own: Path, out: Path) -> None:
    try:
        merged = kind.write(_read(own), class_, options)
    except ExportError as error:
        raise Problem(f"{own} cannot be filled in: {error}") from None
    path = out / own.name if out.is_dir() else out
    if path.exists() and path.samefile(own):
        raise Problem(f"{own} would be overwritten: name another file with --out")
    write_whole(path, [merged.text])
    click.echo(f"wrote {merged.written} scores into {path}")
    _tell(merged)


def _tell(merged: Merged) -> None:
    for note in merged.notes:
        click.echo(note)
    _students("not in the file, so not written", merged.unmatched)
    _students("could be several rows, so not written", merged.ambiguous)
    _students("not gradable, so not written", merged.not_graded)


def _options(assignment: str, column: str, feedback_column: str) -> Options:
    steps = tuple(step.id for step in registry_module.load().steps)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return Options(steps, assignment, column, feedback_column, dict(os.environ), now)


def _unwritable(error: OSError) -> NoReturn:
    raise Problem(f"cannot use {error.filename}: {error.strerror}") from None


def _check_own(format_: str, own: Path | None) -> None:
    merges = isinstance(FORMATS[format_], Into)
    if merges and own is None:
        raise Problem(f"--format {format_} needs --into FILE: your own export, which is filled in")
    if own is not None and not merges:
        raise Problem(f"--into goes with canvas and moodle, not with {format_}")


def _write(
    kind: Each | One | Into, class_: Iterable[Graded], options: Options, own: Path | None, out: Path
) -> None:
    if isinstance(kind, Into):
        assert own is not None  # it was checked
        _into(kind, class_, options, own, out)
    elif isinstance(kind, One):
        _one(kind, class_, options, out)
    else:
        _each(kind, class_, options, out)


@click.command("export")
@click.argument("graded", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(sorted(FORMATS)), required=True)
@click.option("--into", "own", type=click.Path(path_type=Path), help=INTO)
@click.option("--column", default="", help="Header of the column for the score.")
@click.option("--feedback-column", default="", help="Moodle: header of the feedback column.")
@click.option("--assignment", default="nopeek", help="nbgrader: the assignment's name.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help=OUT)
def export(
    graded: Path,
    format_: str,
    own: Path | None,
    column: str,
    feedback_column: str,
    assignment: str,
    out: Path,
) -> None:
    """Writes the results in GRADED, which `grade` wrote, for another program."""
    options = _options(assignment, column, feedback_column)
    _check_own(format_, own)
    try:
        class_ = gradebook_in(graded).graded()
        _write(FORMATS[format_], class_, options, own, out)
    except OSError as error:
        _unwritable(error)
