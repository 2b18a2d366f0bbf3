"""Scores merged into a gradebook that was exported from Canvas."""

from __future__ import annotations

import re
from collections.abc import Iterable

from grader.classroom.exports.cells import read, replaced
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
from grader.report.records import Graded

NAMES = ("ID", "SIS User ID", "SIS Login ID", "Integration ID", "Student")
MUST = ("Student", "ID")


def _score_column(header: Row, name: str) -> int:
    titles = [cell.text for cell in header if re.search(r"\(\d+\)$", cell.text)]
    if name not in titles:
        known = ", ".join(map(repr, titles)) or "none"
        raise ExportError(
            f"name the assignment's column with --column, as its header has it: {known}"
        )
    return column(header, name)


def _points_row(table: list[Row]) -> int:
    """The number of the row with the points, which stands above all students."""
    for number, row in enumerate(table[1:4], start=1):
        if row and row[0].text.strip() == "Points Possible":
            return number
    raise ExportError("it has no row `Points Possible`: export the whole gradebook from Canvas")


def _checked(text: str) -> list[Row]:
    table = read(text)
    if any(name not in [cell.text for cell in table[0]] for name in MUST):
        raise ExportError("it is not a gradebook that Canvas exported: no columns Student and ID")
    all_as_wide(table)
    return table


def _keys(table: list[Row], points: int) -> dict[str, set[int]]:
    """Which rows go by a name, of those below the points."""
    known = [place for place, cell in enumerate(table[0]) if cell.text in NAMES]
    students = {number: row for number, row in enumerate(table) if number > points and row}
    return keys_of({n: [row[i].text for i in known] for n, row in students.items()})


def canvas(text: str, class_: Iterable[Graded], options: Options) -> Merged:
    """The file with one column filled in; every other byte of it stays.

    A student is who has the id as ID, SIS User ID, SIS Login ID, Integration ID or name, exactly.
    """
    table = _checked(text)
    at = _score_column(table[0], options.column)
    points = _points_row(table)
    if "read only" in table[points][at].text:
        raise ExportError(f"Canvas computes the column {options.column!r} itself")
    placed = place(class_, _keys(table, points))
    most = amount(table[points][at].text)
    mark = decimal_mark(cell.text for cell in table[points])
    changes = {table[n][at]: score_text(r, most, mark) for n, r in placed.rows.items()}
    notes = scale_note(placed.rows, most)
    return placed.merged(replaced(text, changes), notes)
