"""Write grades.csv: one row for each student, one column for each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.classroom.exports.explanation import points_of_steps
from grader.classroom.exports.options import Options
from grader.classroom.exports.spreadsheet import number, protect_cell, row
from grader.report.records import Graded


def _cells(graded: Graded, steps: tuple[str, ...]) -> list[str]:
    """Return a student's row; for one who is not gradable, a note and empty scores."""
    report, grade, who = graded.report, graded.grade, graded.who
    verdicts = report.steps if report else ()
    points: dict[str, float | None] = {**points_of_steps(graded)}
    if graded.score is None:  # a file that could not be read does not earn 0
        points = {step.step: points.get(step.step) for step in verdicts if step.gradable}
    notes = [graded.reason, *(grade.notes if grade else ())]
    most = graded.max_score if graded.score is not None else None
    scores = [graded.score, most, *(points.get(step) for step in steps)]
    late = grade.late if grade else "late" if who.late else ""
    state = "excused" if graded.excused else "nothing handed in" if who.absent else late
    about = [state, who.name, who.number, who.email]
    texts = [" ".join(filter(None, notes)), *about]
    return [protect_cell(graded.student), *map(number, scores), *map(protect_cell, texts)]


def header(steps: tuple[str, ...]) -> str:
    """Return the first line."""
    about = ("note", "state", "name", "number", "email")
    return row(["student_id", "score", "max_score", *steps, *about])


def line(graded: Graded, steps: tuple[str, ...]) -> str:
    """Return a student's line."""
    return row(_cells(graded, steps))


def grades(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """Yield the file, one line at a time."""
    yield header(options.steps)
    for graded in class_:
        yield line(graded, options.steps)


def excel(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """Yield the same with a byte order mark, which tells Excel that it is UTF-8."""
    yield "\ufeff"
    yield from grades(class_, options)
