"""Write the columns of `nbgrader export`, for programs that read those."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grader.classroom.exports.options import Options
from grader.classroom.exports.spreadsheet import number, protect_cell, row
from grader.report.records import Graded

COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


def nbgrader(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """Yield the file, one line at a time.

    Dates and names are not known here, so their cells are empty.
    """
    yield row(COLUMNS)
    for graded in class_:
        score, grade = graded.score, graded.grade
        most = number(graded.max_score if score is not None else None)
        raw = score if grade is None or grade.raw is None else grade.raw
        penalty = "" if score is None else number((raw or 0.0) - score)
        name, email = graded.who.name, graded.who.email
        who = [options.assignment, "", graded.who.submitted, graded.student, name, "", email]
        yield row([*map(protect_cell, who), number(raw), penalty, number(score), most])
