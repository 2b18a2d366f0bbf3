"""The command `export`: write results for other programs."""

import datetime
import os
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from grader.classroom.course import MAX_TABLE, read_own, refuse
from grader.classroom.exports import EACH, FORMATS, INTO, ONE, ZIP, Format, Merged, Options
from grader.classroom.gradebook import Gradebook
from grader.classroom.marking import rules_of
from grader.classroom.tables import MATCHES
from grader.cli.options import PATH
from grader.report.files import put, replacing, write_whole
from grader.report.influences import count_words
from grader.report.problem import CourseError, Problem
from grader.report.records import Graded
from grader.report.sanitize import one_line, safe_name

WITH_ALL = ("csv", "excel")  # the instructor's own tables, which have everybody's work
SHOWN = 20  # names of a list on the terminal
OWN = "The platform's table that you downloaded there; it is read, and stays as it is."
OVERWRITE = "Replace the grades in the platform's table, and the feedback comments."
OUT = "Where to write: a file, or a folder."


def _students(heading: str, students: Sequence[str]) -> None:
    """Print a list of students, if it is not empty."""
    if students:
        shown = [one_line(student, 160) for student in students[:SHOWN]]
        more = [f"… and {len(students) - SHOWN} more"] if len(students) > SHOWN else []
        click.echo("\n  ".join([f"{heading} ({len(students)}):", *shown, *more]))


def _each(kind: Format, class_: Iterable[Graded], options: Options, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    count, without = 0, []
    for graded in class_:
        text, path = kind.write(graded, options), out / f"{safe_name(graded.student)}.json"
        if text is None:
            path.unlink(missing_ok=True)  # it would hold the score of an earlier attempt
            without.append(graded.student)
        else:
            write_whole(path, [text])
            count += 1
    click.echo(f"wrote {count_words(count, 'file')} into {out}{os.sep}")
    _students("not gradable, so without a file", tuple(without))


def _one(kind: Format, class_: Iterable[Graded], options: Options, path: Path) -> None:
    write_whole(path, kind.write(class_, options))
    click.echo(f"wrote {path}")


def _into(kind: Format, class_: Iterable[Graded], options: Options, own: Path, path: Path) -> None:
    """Fill in the instructor's file."""
    text, encoding = read_own(own, MAX_TABLE)
    try:
        merged = kind.write(text, class_, options)
    except CourseError as error:
        raise Problem(f"{own} cannot be filled in: {error}") from None
    if path.exists() and path.samefile(own):
        raise Problem(f"{own} would be overwritten: name another file with --out")
    lost = len(merged.unmatched)
    if lost and not merged.placed:
        _tell(merged)
        raise Problem(
            f"none of {lost} students is in {own}: is it the file of this course? "
            "Nothing was written"
        )
    with replacing(path) as beside:
        beside.write_bytes(merged.text.encode(encoding, "backslashreplace"))
    click.echo(f"wrote {count_words(merged.written, 'score')} into {path}")
    _tell(merged)
    if lost > merged.placed:
        raise Problem(
            f"only {merged.placed} of {merged.placed + lost} students are in {own}: look through "
            "the list above before you use the file"
        )


def _tell(merged: Merged) -> None:
    for note in merged.notes:
        click.echo(note)
    lost = [f"{one_line(name, 60)}: {reason}" for name, reason in merged.unmatched.items()]
    _students("without a row of their own, so not written", lost)
    _students("without a score, so not written", merged.not_graded)
    _students("kept there; --overwrite writes the score or comment instead", merged.kept)


def _zip(kind: Format, class_: Iterable[Graded], options: Options, path: Path) -> None:
    with replacing(path) as whole, zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in kind.write(class_, options):
            put(file, name, data)
        if not (count := len(file.namelist())):
            raise Problem("nobody's work is from such a download, so nothing was written")
    click.echo(f"wrote {path}: {count_words(count, 'file')}")


@click.command("export")
@click.argument("graded", type=PATH)
@click.option("--format", "format_", type=click.Choice(sorted(FORMATS)), required=True)
@click.option("--into", "own", type=PATH, help=OWN)
@click.option("--column", default="", help="Header of the column for the score.")
@click.option("--feedback-column", default="", help="Moodle: header of the feedback column.")
@click.option("--overwrite", is_flag=True, help=OVERWRITE)
@click.option("--out", type=PATH, required=True, help=OUT)
def export(
    graded: Path,
    format_: str,
    own: Path | None,
    column: str,
    feedback_column: str,
    overwrite: bool,
    out: Path,
) -> None:
    """Write the results in GRADED, which `grade` wrote, for another program."""
    found, now = FORMATS[format_], datetime.datetime.now(datetime.timezone.utc)
    fills, names = found.kind == INTO, [n for n, one in FORMATS.items() if one.kind == INTO]
    wrong = {
        f"--format {format_} needs --into FILE: your own export, which is filled in": fills
        and own is None,
        f"--into goes with {', '.join(names)}, not with {format_}": own is not None and not fills,
    }
    refuse(wrong)
    if out.is_dir() and found.kind != EACH:
        out /= own.name if own else found.file
    with Gradebook(graded) as book:
        run = book.last()  # the class may be graded again meanwhile
        rules = rules_of(book.assignment(run), graded).settle(book.people(run))
        class_ = rules.apply(book.graded(run))
        if format_ not in WITH_ALL:
            unmatched = rules.answer.unmatched
            heading = f"not matched, so not exported; write into {MATCHES} whose work it is"
            _students(heading, list(unmatched))
            class_ = (one for one in class_ if one.student not in unmatched)
        options = Options(
            book.exam(run).steps,
            rules.course.name or "nopeek",
            rules.course.due,
            column,
            feedback_column,
            environment=dict(os.environ),
            graded_at=now.isoformat(timespec="seconds"),
            overwrite=overwrite,
            answer=rules.answer,
        )
        if own is not None:
            _into(found, class_, options, own, out)
        else:
            {ZIP: _zip, ONE: _one, EACH: _each}[found.kind](found, class_, options, out)
