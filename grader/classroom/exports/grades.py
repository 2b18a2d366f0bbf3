"""grades.csv: one row per student, one column per step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.classroom.exports.options import Options
from grader.classroom.exports.spreadsheet import cell, number, row
from grader.report.records import Graded


def _cells(graded: Graded, steps: tuple[str, ...]) -> list[str]:
    """A student who could not be graded has a note and empty scores, which are no zeros."""
    report, grade, who = graded.report, graded.grade, graded.who
    verdicts = report.steps if report else ()
    points: dict[str, float | None] = {step.step: step.points for step in verdicts}
    points |= dict(grade.steps) if grade else {}
    if graded.score is None:  # what could not be read is no zero
        points = {step.step: points.get(step.step) for step in verdicts if step.gradable}
    notes = [graded.reason, *(grade.notes if grade else ())]
    most = graded.max_score if graded.score is not None else None
    scores = [graded.score, most, *(points.get(step) for step in steps)]
    late = grade.late if grade else "late" if who.late else ""
    state = "excused" if graded.excused else "nothing handed in" if who.absent else late
    about = [state, who.name, who.number, who.email]
    texts = [" ".join(filter(None, notes)), *about]
    return [cell(graded.student), *map(number, scores), *map(cell, texts)]


def grades(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """The file, a line at a time."""
    yield row(
        [
            "student_id",
            "score",
            "max_score",
            *options.steps,
            "note",
            "state",
            "name",
            "number",
            "email",
        ]
    )
    for graded in class_:
        yield row(_cells(graded, options.steps))


def excel(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """The same with a byte order mark, by which Excel knows that it is UTF-8."""
    yield "\ufeff"
    yield from grades(class_, options)
