"""The columns of `nbgrader export`, for what reads those."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.classroom.exports.options import Options
from grader.classroom.exports.spreadsheet import cell, number, row
from grader.report.records import Graded

COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


def nbgrader(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """The file, a line at a time. Dates and names are not known here, so these cells are empty."""
    yield row(COLUMNS)
    for graded in class_:
        report = graded.report
        score = number(report.score if report else None)
        most = number(report.max_score if report else None)
        who = [cell(options.assignment), "", "", cell(graded.student), "", "", ""]
        yield row([*who, score, "0" if report else "", score, most])
