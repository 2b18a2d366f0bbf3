"""Scores and feedback merged into an offline grading worksheet that was downloaded from Moodle.

The worksheet's header is in the language of whoever downloaded it, so columns are found by what
stands in them wherever that is enough.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from grader.classroom.exports.cells import Cell, read, replaced
from grader.classroom.exports.merging import (
    Row,
    all_as_wide,
    amount,
    column,
    decimal_mark,
    keys_of,
    place,
    scale_note,
    score_text,
)
from grader.classroom.exports.options import ExportError, Merged, Options
from grader.report.records import Graded, Report, Status

GRADE, FEEDBACK = "Grade", "Feedback comments"
PARTICIPANT = re.compile(r"\D*?(\d+)", re.ASCII)
NO_FEEDBACK = "No column `Feedback comments` was found: --feedback-column names it."
KINDS = ("file", "onlinetext")


def _texts(table: list[Row], at: int) -> list[str]:
    return [row[at].text for row in table[1:] if row]


def _is_maximum(texts: list[str]) -> bool:
    return len(set(texts)) == 1 and amount(texts[0]) is not None


def _grade_column(table: list[Row], name: str) -> int:
    """The column of that name, or `Grade`, or the one of numbers before the maximum grade."""
    header = [cell.text for cell in table[0]]
    if name or GRADE in header:
        return column(table[0], name or GRADE)
    found = [
        at
        for at in range(1, len(header) - 1)
        if _is_maximum(_texts(table, at + 1))
        and all(not text.strip() or amount(text) is not None for text in _texts(table, at))
    ]
    if len(found) != 1:
        raise ExportError("name the column of the grade with --column, as its header has it")
    return found[0]


def _maximum(table: list[Row], grade: int) -> float | None:
    """What the assignment is worth, where the worksheet says so: after the grade."""
    if grade + 1 == len(table[0]):
        return None
    texts = _texts(table, grade + 1)
    return amount(texts[0]) if _is_maximum(texts) else None


def _names(row: Row, grade: int) -> set[str]:
    """All that a student may be called by: the cells before the grade, Moodle's number, a folder.

    The folders are those of Moodle's own download: `Ada Lovelace_123_assignsubmission_file`.
    """
    match = PARTICIPANT.fullmatch(row[0].text)
    assert match is not None  # the table was looked at
    cells = {cell.text for cell in row[:grade] if cell.text}
    folders = {f"{text}_{match[1]}_assignsubmission_{kind}" for text in cells for kind in KINDS}
    return {*cells, match[1], *folders}


def feedback(report: Report) -> str:
    """One paragraph of HTML: the steps' points, and what to work on first."""
    steps = "; ".join(
        f"{step.title} {step.points:g} of {step.max_points:g}" for step in report.steps
    )
    text = f"Points: {report.score:g} of {report.max_score:g}. {steps}."
    todo = next((step for step in report.steps if step.status is not Status.PASSED), None)
    return html.escape(text + (f" First to work on: {todo.title}." if todo else ""))


def _checked(text: str) -> list[Row]:
    table = read(text)
    all_as_wide(table)
    firsts = [row[0].text for row in table[1:] if row]
    if not firsts or any(PARTICIPANT.fullmatch(first) is None for first in firsts):
        raise ExportError(
            "it is not a grading worksheet of Moodle: its first column must hold identifiers such "
            "as `Participant 123`"
        )
    return table


def _feedback_column(table: list[Row], name: str) -> int | None:
    if name or FEEDBACK in [cell.text for cell in table[0]]:
        return column(table[0], name or FEEDBACK)
    return None


def moodle(text: str, class_: Iterable[Graded], options: Options) -> Merged:
    """The file with grade and feedback filled in; every other byte of it stays.

    A student is whose identifier, number, name, address or ID number is the id, exactly; or whose
    folder of Moodle's own download it is, such as `Ada Lovelace_123_assignsubmission_file`.
    """
    table = _checked(text)
    grade = _grade_column(table, options.column)
    said = _feedback_column(table, options.feedback_column)
    keys = keys_of({n: _names(row, grade) for n, row in enumerate(table) if n and row})
    placed = place(class_, keys)
    most = _maximum(table, grade)
    mark = decimal_mark(cell.text for row in table[1:] for cell in row[grade : grade + 2])
    changes: dict[Cell, str] = {}
    for number, report in placed.rows.items():
        changes[table[number][grade]] = score_text(report, most, mark)
        if said is not None:
            changes[table[number][said]] = feedback(report)
    notes = scale_note(placed.rows, most) + ((NO_FEEDBACK,) if said is None else ())
    return placed.merged(replaced(text, changes), notes)
