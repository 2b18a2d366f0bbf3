"""Merge scores into a gradebook that was exported from Canvas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from grader.classroom.exports.cells import Cell, read, replace_cells
from grader.classroom.exports.merging import (
    EXCUSED,
    Row,
    Rows,
    all_as_wide,
    amount,
    column,
    decimal_mark,
    earlier,
    is_ours,
    keys_of,
    place,
    scale_note,
    score_text,
)
from grader.classroom.exports.options import ExportError, Merged, Options
from grader.classroom.exports.people import members
from grader.report.records import Graded
from grader.report.sanitize import one_line

NAMES = ("ID", "SIS User ID", "SIS Login ID", "Integration ID", "Student")


def is_gradebook(header: Sequence[str]) -> bool:
    """Return whether these are columns of Canvas' gradebook; names may be in two columns."""
    return "ID" in header and ("Student" in header or {"LastName", "FirstName"} <= {*header})


def names_in(header: Sequence[str], row: Sequence[str]) -> tuple[str, str]:
    """Return `Abel, Anna` and `Anna Abel`, whichever columns the name is in.

    >>> names_in(["LastName", "FirstName", "ID"], ["Abel", "Anna", "7"])
    ('Abel, Anna', 'Anna Abel')
    """
    cells = dict(zip(header, row))
    written = cells.get("Student", "")
    if "Student" not in header:
        written = ", ".join(filter(None, (cells.get("LastName"), cells.get("FirstName"))))
    last, comma, first = written.partition(",")
    return written, f"{first.strip()} {last.strip()}" if comma else ""


def _score_column(header: Row, name: str) -> int:
    titles = [cell.text for cell in header if re.search(r"\(\d+\)$", cell.text)]
    if name not in titles:
        known = ", ".join(map(repr, titles)) or "none"
        wrong = f"there is no column {one_line(name, 60)!r}; " if name else ""
        raise ExportError(
            f"{wrong}name the assignment's column with --column, as its header has it: {known}"
        )
    return column(header, name)


def _points_row(table: list[Row]) -> int:
    """Return the number of the row with the points, which is above all students."""
    for number, row in enumerate(table[1:4], start=1):
        if row and row[0].text.strip() == "Points Possible":
            return number
    raise ExportError("it has no row `Points Possible`: export the whole gradebook from Canvas")


def _check_columns(text: str) -> list[Row]:
    table = read(text)
    if not is_gradebook([cell.text for cell in table[0]]):
        raise ExportError("it is not a gradebook that Canvas exported: no columns Student and ID")
    all_as_wide(table)
    return table


def _rows(table: list[Row], points: int) -> Rows:
    """Return which rows match a name or an ID, among those below the points."""
    header = [cell.text for cell in table[0]]
    known = [at for at, text in enumerate(header) if text in NAMES]
    students = {number: row for number, row in enumerate(table) if number > points and row}
    names = {n: [row[i].text for i in known] for n, row in students.items()}
    for number, row in students.items():
        names[number] += names_in(header, [cell.text for cell in row])
    ids = {n: [row[header.index("ID")].text] for n, row in students.items()}
    return Rows("Canvas", keys_of(names), keys_of(ids), names)


def canvas(text: str, class_: Iterable[Graded], options: Options) -> Merged:
    """Return the file with one column filled in, and every other byte unchanged.

    A student from Canvas' own download is the row with that ID. Any other student is the row whose
    ID, SIS User ID, SIS Login ID, Integration ID or name is the student's id. Grades and excuses
    that another person has entered stay.
    """
    table = _check_columns(text)
    at = _score_column(table[0], options.column)
    points = _points_row(table)
    if "read only" in table[points][at].text:
        raise ExportError(f"Canvas computes the column {options.column!r} itself")
    rows = _rows(table, points).with_list(options.listed or options.roster)
    placed = place(members(class_, options.groups, options.roster), rows)
    most = amount(table[points][at].text)
    mark = decimal_mark(cell.text for cell in table[points])
    key = [cell.text for cell in table[0]].index("ID")
    changes: dict[Cell, str] = {}
    kept: list[str] = []
    cells: dict[str, str] = {}
    for number, graded in placed.rows.items():
        row = table[number]
        new = EXCUSED if graded.excused else score_text(graded, most, mark)
        exported = options.exported.get(row[key].text, ())
        mine = options.overwrite or is_ours(row[at].text, exported)
        if not mine and not is_ours(row[at].text, [new]):
            kept.append(graded.student)
            continue
        changes[row[at]] = new
        if mine:
            cells[row[key].text] = new  # the same grade may be another person's
    lost = (placed.unmatched, placed.ambiguous, placed.not_graded)
    notes = rows.notes + scale_note(placed.rows, most)
    merged, stay = replace_cells(text, changes), earlier(placed, table, at)
    return Merged(merged, len(changes), *lost, notes, tuple(kept), stay, cells)
