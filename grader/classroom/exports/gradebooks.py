"""Read the tables of grades of the platforms, which differ in their headers.

Each layout below says by which columns a table is recognised, and what its columns hold. A platform
with another table of that kind is one more layout. Headers are in English. In Moodle's worksheet in
another language only the first column is read, and those that the instructor names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from grader.classroom.exports.cells import read
from grader.classroom.exports.merging import (
    GradeTable,
    Row,
    check_width,
    column,
    fill,
    read_number,
)
from grader.classroom.exports.options import ExportError, Merged, Options
from grader.classroom.people import Person, person
from grader.report.records import Graded, Who
from grader.report.sanitize import one_line

HEADER_ROWS = 4  # in which the header is; Sakai has a title above it
TEST_STUDENT = "Student, Test"  # in Canvas' export once somebody has used its Student View
POINTS = "Points Possible"  # Canvas' row above all students
FEEDBACK, SUBMITTED = "Feedback comments", "Last modified (submission)"  # Moodle's columns
FEEDBACKS = (FEEDBACK.casefold(), "feedback als kommentar", "feedback als kommentare")
NO_FEEDBACK = f"No column `{FEEDBACK}` was found: --feedback-column names it."
_PARTICIPANT = re.compile(r"(\D{3,}?)(\d+)", re.ASCII)  # the word is in any language


@dataclass(frozen=True)
class Layout:
    """The columns of a platform's table.

    known_by: columns that no other table has, in each of its forms. ids: columns of logins and
    university numbers. grade: the form of a grade's header; its group is the maximum. example: a
    header, for a sentence. number: the column of the platform's own number. id: how a person with a
    number is called. only: the header of the grade where there is one grade. excused: how an excuse
    is written. has_points: whether a row above the students has the maximum. is_beside: whether the
    maximum is in the column after the grade.
    """

    platform: str
    known_by: tuple[tuple[str, ...], ...]
    ids: tuple[str, ...]
    grade: str
    example: str
    number: str = ""
    id: str = ""
    only: str = ""
    excused: str = ""
    has_points: bool = False
    is_beside: bool = False


LAYOUTS = (
    Layout(
        "Canvas",
        known_by=(("ID", "Student"), ("ID", "LastName", "FirstName")),
        ids=("SIS User ID", "SIS Login ID", "Integration ID"),
        grade=r".*\(\d+\)()",
        example="Student,ID,SIS User ID,SIS Login ID,Section,Lab 1 (77)",
        number="ID",
        id="{written} ({number})",
        excused="EX",
        has_points=True,
    ),
    Layout(
        "Moodle",
        known_by=(("Identifier", "Grade"),),
        ids=("ID number",),
        grade=".+()",
        example="Identifier,Full name,Email address,Status,Grade,Maximum grade",
        number="Identifier",
        id="{name}_{number}",
        only="Grade",
        is_beside=True,
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
    Layout(
        "Gradescope",
        known_by=(("SID", "Email", "Total Score", "Max Points"),),
        ids=("SID", "Email"),
        grade="Total Score()",
        example="Name,SID,Email,Total Score,Max Points,Status,Submission ID",
        only="Total Score",
        is_beside=True,
    ),
)
_LAST, _FIRST = ("LastName", "Last Name"), ("FirstName", "First Name")
_WRITTEN, _MAILS = ("Student", "Full name", "Name"), ("Email", "Email address")


def find_layout(rows: Sequence[Sequence[str]]) -> tuple[Layout, int] | None:
    """Return the layout of a table, and the number of its header's row; None for another table."""
    for number, row in enumerate(rows[:HEADER_ROWS]):
        for layout in LAYOUTS:
            if any({*columns} <= {*row} for columns in layout.known_by):
                return layout, number
    firsts = [row[0] for row in rows[1:] if row and any(row)]
    if firsts and all(map(_PARTICIPANT.fullmatch, firsts)):
        return next(one for one in LAYOUTS if one.platform == "Moodle"), 0
    return None


def _first_of(cells: dict[str, str], names: Sequence[str]) -> str:
    return next((cells[name] for name in names if name in cells), "")


def _names_in(cells: dict[str, str]) -> tuple[str, str]:
    """Return `Abel, Anna` and `Anna Abel`, whichever columns the name is in.

    >>> _names_in({"LastName": "Abel", "FirstName": "Anna"})
    ('Abel, Anna', 'Anna Abel')
    """
    apart = ", ".join(filter(None, (_first_of(cells, _LAST), _first_of(cells, _FIRST))))
    written = _first_of(cells, _WRITTEN) or apart
    last, _, first = written.partition(",")
    return written, f"{first.strip()} {last.strip()}".strip()


def read_person(layout: Layout, header: Sequence[str], row: Sequence[str]) -> Person:
    """Return the person in a row. Brightspace writes `#` before ids, and Moodle a word."""
    cells = dict(zip(header, (cell.strip() for cell in row)))
    written, name = _names_in(cells)
    ids = [cells.get(one, "").removeprefix("#") for one in layout.ids]
    number, word = cells.get(layout.number, ""), ""
    if layout.platform == "Moodle":
        match = _PARTICIPANT.fullmatch(row[0].strip())
        word, number = match.groups() if match else ("", "")
        ids.append(f"{word.strip()}_{number}")
    called = layout.id.format(written=written, name=name or word.strip(), number=number)
    id = called if number else next(filter(None, ids), "")
    times = cells.get(SUBMITTED, "").strip("-")
    who = Who(layout.platform, number, name, _first_of(cells, _MAILS), submitted=times)
    return person(id, who, [row[0], written] if word else [written], ids)


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


def _read_sheet(platform: str, text: str, options: Options) -> GradeTable:
    table = read(text)
    texts = [[cell.text for cell in row] for row in table]
    found = find_layout(texts)
    if found is None or found[0].platform != platform:
        example = next(one.example for one in LAYOUTS if one.platform == platform)
        raise ExportError(f"it is not a table that {platform} exported, such as {example}")
    layout, top = found
    check_width(table[top:])
    header, at = table[top], _grade_column(layout, table[top], options.column)
    match = re.fullmatch(layout.grade, header[at].text)
    most = match[1] or "" if match else ""
    if layout.has_points:
        top = _points_row(table)
        most = texts[top][at]
        if "read only" in most:
            raise ExportError(f"{platform} computes the column {options.column!r} itself")
    below = {n: row for n, row in enumerate(texts) if n > top and any(row)}
    if layout.is_beside:
        beside = {row[at + 1] for row in below.values() if len(row) > at + 1}
        most = beside.pop() if len(beside) == 1 else ""
    people = {n: read_person(layout, texts[found[1]], row) for n, row in below.items()}
    worth = read_number(most) or None  # 0 says nothing
    sheet = GradeTable(platform, table, people, at, worth, excused=layout.excused)
    return _with_feedback(sheet, header, options) if platform == "Moodle" else sheet


def _with_feedback(sheet: GradeTable, header: Row, options: Options) -> GradeTable:
    """Return a worksheet of Moodle, which may have a column of comments."""
    known = (cell.text for cell in header if cell.text.casefold() in FEEDBACKS)
    name = options.feedback_column or next(known, "")
    said = column(header, name) if name else None
    return replace(sheet, skips=True, feedback=said, notes=() if name else (NO_FEEDBACK,))


def into_gradebook(platform: str, text: str, class_: Iterable[Graded], options: Options) -> Merged:
    """Return the platform's table with one column filled in, and every other byte unchanged."""
    return fill(text, _read_sheet(platform, text, options), class_, options)
