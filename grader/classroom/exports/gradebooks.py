"""Read the tables of grades of Canvas, Brightspace, Blackboard and Sakai, which differ in headers.

Each layout below says by which columns a table is recognised, and what its columns hold. A platform
with another table of that kind is one more layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.classroom.exports.cells import read
from grader.classroom.exports.merging import Row, Sheet, amount, check_width, column, fill
from grader.classroom.exports.options import ExportError, Merged, Options
from grader.classroom.people import Person, person
from grader.report.records import Graded, Who
from grader.report.sanitize import one_line

HEADER_ROWS = 4  # in which the header is; Sakai has a title above it
TEST_STUDENT = "Student, Test"  # in Canvas' export once somebody has used its Student View
POINTS = "Points Possible"  # Canvas' row above all students


@dataclass(frozen=True)
class Layout:
    """The columns of a platform's table.

    known_by: columns that no other table has, in each of its forms. ids: columns of logins and
    university numbers. grade: the form of a grade's header; its group is the maximum. example: a
    header, for a sentence. number: the column of the platform's own number. only: the header of the
    grade where there is one grade. excused: how an excuse is written.
    """

    platform: str
    known_by: tuple[tuple[str, ...], ...]
    ids: tuple[str, ...]
    grade: str
    example: str
    number: str = ""
    only: str = ""
    excused: str = ""


LAYOUTS = (
    Layout(
        "Canvas",
        known_by=(("ID", "Student"), ("ID", "LastName", "FirstName")),
        ids=("SIS User ID", "SIS Login ID", "Integration ID"),
        grade=r".*\(\d+\)()",
        example="Student,ID,SIS User ID,SIS Login ID,Section,Lab 1 (77)",
        number="ID",
        excused="EX",
    ),
    Layout(
        "Brightspace",
        known_by=(("End-of-Line Indicator",),),
        ids=("OrgDefinedId", "Username"),
        grade=r".+ Points Grade(?:.*MaxPoints:([\d.]+).*)?",
        example="OrgDefinedId,Username,Lab 1 Points Grade <Numeric MaxPoints:10>,"
        "End-of-Line Indicator",
    ),
    Layout(
        "Blackboard",
        known_by=(("Username", "Last Name", "First Name"),),
        ids=("Username", "Student ID"),
        grade=r".+\[Total Pts: (?:up to )?([\d.,]+).*\] ?\|\d+",
        example="Last Name,First Name,Username,Student ID,Lab 1 [Total Pts: 10 Score] |664617",
    ),
    Layout(
        "Sakai",
        known_by=(("Display ID", "ID", "grade"),),
        ids=("Display ID", "ID"),
        grade="grade()",
        example="Display ID,ID,Last Name,First Name,grade",
        only="grade",
    ),
)
_LAST, _FIRST = ("LastName", "Last Name"), ("FirstName", "First Name")


def find_layout(rows: Sequence[Sequence[str]]) -> tuple[Layout, int] | None:
    """Return the layout of a table, and the number of its header's row; None for another table."""
    return next(
        (
            (layout, number)
            for number, row in enumerate(rows[:HEADER_ROWS])
            for layout in LAYOUTS
            if any({*columns} <= {*row} for columns in layout.known_by)
        ),
        None,
    )


def _names_in(cells: dict[str, str]) -> tuple[str, str]:
    """Return `Abel, Anna` and `Anna Abel`, whichever columns the name is in.

    >>> _names_in({"LastName": "Abel", "FirstName": "Anna"})
    ('Abel, Anna', 'Anna Abel')
    """
    last = next((cells[name] for name in _LAST if name in cells), "")
    first = next((cells[name] for name in _FIRST if name in cells), "")
    written = cells.get("Student") or ", ".join(filter(None, (last, first)))
    last, _, first = written.partition(",")
    return written, f"{first.strip()} {last.strip()}".strip()


def read_person(layout: Layout, header: Sequence[str], row: Sequence[str]) -> Person:
    """Return the person in a row. Brightspace writes `#` before ids."""
    cells = dict(zip(header, (cell.strip() for cell in row)))
    written, name = _names_in(cells)
    ids = [cells.get(one, "").removeprefix("#") for one in layout.ids]
    number = cells.get(layout.number, "")
    who = Who(layout.platform, number, name, cells.get("Email", ""))
    return person(next(filter(None, ids), ""), who, [written], ids)


def list_people(rows: Sequence[Sequence[str]]) -> list[Person]:
    """Return the people in such a table, for a class list. Canvas' own rows have no number."""
    found = find_layout(rows)
    if found is None:
        return []
    layout, at = found
    people = [read_person(layout, rows[at], row) for row in rows[at + 1 :] if row and any(row)]
    return [one for one in people if one.who.number or (one.id and not layout.number)]


def _grade_column(layout: Layout, header: Row, name: str) -> int:
    titles = [cell.text for cell in header if re.fullmatch(layout.grade, cell.text)]
    name = name or layout.only
    if name not in titles:
        known = ", ".join(map(repr, titles)) or "none"
        wrong = f"there is no column {one_line(name, 60)!r}; " if name else ""
        raise ExportError(
            f"{wrong}name the assignment's column with --column, as its header has it: {known}"
        )
    return column(header, name)


def _points_row(table: Sequence[Row]) -> int:
    """Return the number of Canvas' row with the points, which is above all students."""
    for number, row in enumerate(table[1:4], start=1):
        if row and row[0].text.strip() == POINTS:
            return number
    raise ExportError(f"it has no row `{POINTS}`: export the whole gradebook from Canvas")


def _read_sheet(platform: str, text: str, name: str) -> Sheet:
    table = read(text)
    texts = [[cell.text for cell in row] for row in table]
    found = find_layout(texts)
    if found is None or found[0].platform != platform:
        example = next(one.example for one in LAYOUTS if one.platform == platform)
        raise ExportError(f"it is not a table that {platform} exported, such as {example}")
    layout, top = found
    check_width(table[top:])
    at = _grade_column(layout, table[top], name)
    match = re.fullmatch(layout.grade, table[top][at].text)
    most = amount(match[1] or "") if match else None
    if layout.number:
        top = _points_row(table)
        if "read only" in texts[top][at]:
            raise ExportError(f"{platform} computes the column {name!r} itself")
        most = amount(texts[top][at])
    below = {n: row for n, row in enumerate(texts) if n > top and any(row)}
    people = {n: read_person(layout, texts[found[1]], row) for n, row in below.items()}
    keys = {n: one.who.number or one.id for n, one in people.items()}
    return Sheet(platform, table, people, keys, at, most, excused=layout.excused)


def into_gradebook(platform: str, text: str, class_: Iterable[Graded], options: Options) -> Merged:
    """Return the platform's table with one column filled in, and every other byte unchanged."""
    return fill(text, _read_sheet(platform, text, options.column), class_, options)
