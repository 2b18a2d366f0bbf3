"""Read the tables of grades of the platforms, which differ in their headers.

Each layout below says by which columns a table is recognised, and what its columns hold. A platform
with another table of that kind is one more layout. Headers are in English. In Moodle's worksheet in
another language only the first column is read, and those that the instructor names.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.classroom.people import Person, person
from grader.report.records import Who

HEADER_ROWS = 4  # in which the header is; Sakai has a title above it
TEST_STUDENT = "Student, Test"  # in Canvas' export once somebody has used its Student View
SUBMITTED = "Last modified (submission)"  # Moodle's column
_PARTICIPANT = re.compile(r"(\D{3,}?)(\d+)", re.ASCII)  # the word is in any language


@dataclass(frozen=True)
class Layout:
    """The columns of a platform's table.

    known_by: columns that no other table has, in each of its forms. ids: columns of logins and
    university numbers. grade: the form of a grade's header; its group is the maximum. example: a
    header, for a sentence. number: the column of the platform's own number. id: how a person with a
    number is called. only: the header of the grade where there is one grade. excused: how an excuse
    is written. has_points: whether a row above the students has the maximum. is_beside: whether the
    maximum is in the column after the grade. skips: whether the platform skips scores above it.
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
    skips: bool = False


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
        skips=True,
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
