"""grades.csv: one row per student, one column per step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.classroom.exports.options import Options
from grader.classroom.exports.spreadsheet import cell, number, row
from grader.report.records import Graded


def _cells(graded: Graded, steps: tuple[str, ...]) -> list[str]:
    """A student who could not be graded has a note and empty scores, which are no zeros."""
    report = graded.report
    if report is None:
        return [cell(graded.student), *[""] * (2 + len(steps)), cell(graded.reason)]
    points = {step.step: step.points for step in report.steps}
    scores = [report.score, report.max_score, *(points.get(step) for step in steps)]
    return [cell(graded.student), *map(number, scores), ""]


def grades(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """The file, a line at a time."""
    yield row(["student_id", "score", "max_score", *options.steps, "note"])
    for graded in class_:
        yield row(_cells(graded, options.steps))
