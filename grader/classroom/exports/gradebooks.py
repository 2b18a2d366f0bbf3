"""Read the tables of grades that an instructor has downloaded from a platform, and fill them in.

The platforms differ in their headers. Each layout below says by which columns a table is
recognised, and what its columns hold. A platform with another table of that kind is one more
layout. Headers are in English. In Moodle's worksheet in another language only the first column is
read, and those that the instructor names. What is not filled in keeps every byte.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from grader.classroom.exports.cells import read, replace_cells
from grader.classroom.exports.grades import Options
from grader.classroom.exports.returning import describe
from grader.classroom.people import Directory, Owners, Person, person, settle
from grader.report.influences import count_words
from grader.report.problem import CourseError
from grader.report.records import Graded, Who
from grader.report.sanitize import one_line

HEADER_ROWS = 4  # in which the header is; Sakai has a title above it
TEST_STUDENT = "Student, Test"  # in Canvas' export once somebody has used its Student View
POINTS = "Points Possible"  # Canvas' row above all students
FEEDBACK = "Feedback comments"  # Moodle's column
DECIMALS = 2  # as many as these platforms show
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
# The columns of the whole name, the address, the last and the first name.
_COLUMNS = (
    ("Student", "Full name", "Name"),
    ("Email", "Email address"),
    ("LastName", "Last Name"),
    ("FirstName", "First Name"),
)


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


def read_person(layout: Layout, header: Sequence[str], row: Sequence[str]) -> Person:
    """Return the person in a row. Brightspace writes `#` before ids, and Moodle a word.

    A name is `Abel, Anna` in some tables, `Anna Abel` in others, or in two columns.
    """
    cells = dict(zip(header, (cell.strip() for cell in row)))
    written, mail, last, first = (
        next((cells[one] for one in names if one in cells), "") for names in _COLUMNS
    )
    written = written or ", ".join(filter(None, (last, first)))
    last, _, first = written.partition(",")
    name = f"{first.strip()} {last.strip()}".strip()
    ids = [cells.get(one, "").removeprefix("#") for one in layout.ids]
    number, word = cells.get(layout.number, ""), ""
    if layout.platform == "Moodle":
        match = _PARTICIPANT.fullmatch(row[0].strip())
        word, number = match.groups() if match else ("", "")
        ids.append(f"{word.strip()}_{number}")
    id = next(filter(None, ids), "")
    if number:
        id = layout.id.format(written=written, name=name or word.strip(), number=number)
    times = cells.get("Last modified (submission)", "").strip("-")  # on Moodle
    who = Who(layout.platform, number, name, mail, submitted=times)
    return person(id, who, [row[0], written] if word else [written], ids)


def list_people(rows: Sequence[Sequence[str]]) -> list[Person]:
    """Return the people in such a table, for a class list. Canvas' own rows have no number."""
    found = find_layout(rows)
    if found is None:
        return []
    layout, at = found
    people = [read_person(layout, rows[at], row) for row in rows[at + 1 :] if row and any(row)]
    return [one for one in people if one.who.number or (one.id and not layout.number)]


@dataclass(frozen=True)
class GradeTable:
    """A platform's table of grades.

    people: the students by the number of their row. grade: the column. most: what the assignment is
    worth there, if the table says so. feedback: the column of comments.
    """

    layout: Layout
    table: Sequence[Sequence[str]]
    people: Mapping[int, Person]
    grade: int
    most: float | None
    feedback: int | None


@dataclass(frozen=True)
class Merged:
    """The instructor's file with the scores in it, and everyone whose score is not.

    placed: how many have a row. unmatched: students without a row of their own, each with the
    reason. kept: the grades and comments there that were not replaced, each with its student.
    """

    text: str
    written: int
    placed: int
    unmatched: Mapping[str, str]
    not_graded: Sequence[str]
    notes: Sequence[str]
    kept: Sequence[str]


def _find_rows(
    class_: Sequence[Graded], sheet: GradeTable, answer: Owners
) -> Iterator[tuple[Graded, int, str]]:
    """Yield each student with the row that only they have, or with the reason why there is none.

    Everybody on the class list claims a row, because a name in the table may be chosen.
    """
    directory, numbers = Directory(list(sheet.people.values())), list(sheet.people)
    owners = [(graded, one) for graded in class_ for one in answer.owners_of(graded)]
    people = {one.id: one for one in answer.directory.people} if answer.is_listed else {}
    people |= {one.id: one for _, one in owners}
    where = f"in the file from {sheet.layout.platform}"
    known = answer.directory.without_shared_names
    found = settle(
        directory.people, {id: directory.find(known(one), where) for id, one in people.items()}
    )
    for graded, owner in owners:
        row, reason = found[owner.id]
        yield graded, numbers[row[0]] if row else 0, reason


def _has_score(graded: Graded) -> bool:
    return graded.score is not None or graded.excused


def _write_score(graded: Graded, sheet: GradeTable, mark: str) -> str:
    """Return the text of the grade; "" for none, or for an excuse if the platform has none."""
    if graded.score is None:
        return sheet.layout.excused if graded.excused else ""
    score = scale_score(graded, sheet.most)
    if sheet.layout.skips and sheet.most is not None:
        score = min(score, sheet.most)
    # Six decimals, so that 15.625 is a half and 0.1 + 0.2 has no tail.
    exact = Decimal(str(round(score, 6))).quantize(Decimal(1).scaleb(-DECIMALS), ROUND_HALF_UP)
    return f"{exact:f}".rstrip("0").rstrip(".").replace(".", mark)


def scale_score(graded: Graded, most: float | None) -> float:
    """Return the score, scaled to the points of the platform's assignment, if these are known."""
    score, worth = graded.score or 0.0, graded.max_score
    return score * (most / worth if most and worth else 1.0)


def _may_replace(there: str, new: str, options: Options) -> bool:
    """Return whether a cell is empty, holds the same grade, or is to be overwritten."""
    now = there.strip()
    if now.casefold() in ("", "-", "n/a") or now == new or (options.overwrite and new):
        return True
    number = read_number(now)
    return number is not None and number == read_number(new)


def _column(header: Sequence[str], name: str) -> int:
    """Return the place of the only column with that header. Raise CourseError otherwise."""
    places = [place for place, cell in enumerate(header) if cell == name]
    if not places:
        raise CourseError(f"it has no column {name!r}")
    if len(places) > 1:
        raise CourseError(f"it has {len(places)} columns {name!r}: rename all but one")
    return places[0]


def read_number(text: str) -> float | None:
    """Return a cell's number, with decimal point or comma, or None if it is not a number."""
    if not re.fullmatch(r"\s*\d+([.,]\d+)?\s*", text, re.ASCII):
        return None
    return float(text.replace(",", "."))


def _list_notes(scored: Sequence[Graded], sheet: GradeTable) -> Iterator[str]:
    """Yield notes on scaled scores, and on what the platform has no place for."""
    most, platform = sheet.most, sheet.layout.platform
    worth = sorted({graded.max_score or 0.0 for graded in scored})
    here = " or ".join(f"{points:g}" for points in worth)
    if worth and most is None:
        yield f"The file does not say what the assignment is worth: scores are out of {here}."
    elif worth and worth != [most]:
        yield f"Scores are out of {here} here and out of {most:g} there: they were scaled."
    if platform == "Moodle" and sheet.feedback is None:
        yield f"No column `{FEEDBACK}` was found: --feedback-column names it."
    above = sum(
        sheet.layout.skips and most is not None and scale_score(one, most) > most for one in scored
    )
    if above:
        written = count_words(above, "score")
        yield f"{platform} skips scores above {most:g}: {written} written as that."
    excused = sum(one.excused and not sheet.layout.excused for one in scored)
    if excused:
        yield f"{platform} has no excuses: no grade is written for {excused} excused."


def _grade_column(layout: Layout, header: Sequence[str], name: str) -> int:
    titles = [cell for cell in header if re.fullmatch(layout.grade, cell)]
    name = name or layout.only
    if name not in titles:
        known = ", ".join(map(repr, titles)) or "none"
        wrong = f"there is no column {one_line(name, 60)!r}; " if name else ""
        raise CourseError(
            f"{wrong}name the assignment's column with --column, as its header has it: {known}"
        )
    return _column(header, name)


def _read_sheet(platform: str, text: str, options: Options) -> GradeTable:
    table = read(text)
    found = find_layout(table)
    if found is None or found[0].platform != platform:
        example = next(one.example for one in LAYOUTS if one.platform == platform)
        raise CourseError(f"it is not a table that {platform} exported, such as {example}")
    layout, top = found
    header, width = table[top], len(table[top])
    for number, row in enumerate(table[top:], start=1):
        if row and len(row) != width:
            raise CourseError(
                f"its row {number} has {len(row)} cells and its header {width}: "
                "download the file again"
            )
    at = _grade_column(layout, header, options.column)
    match = re.fullmatch(layout.grade, header[at])
    most = match[1] or "" if match else ""
    if layout.has_points:
        above = [n for n, row in enumerate(table[:HEADER_ROWS]) if row and row[0].strip() == POINTS]
        if not above:
            raise CourseError(f"it has no row `{POINTS}`: export the whole gradebook from Canvas")
        top = above[0]
        most = table[top][at]
        if "read only" in most:
            raise CourseError(f"{platform} computes the column {options.column!r} itself")
    below = {n: row for n, row in enumerate(table) if n > top and any(row)}
    if layout.is_beside:
        beside = {row[at + 1] for row in below.values() if len(row) > at + 1}
        most = beside.pop() if len(beside) == 1 else ""
    people = {n: read_person(layout, header, row) for n, row in below.items()}
    worth = read_number(most) or None  # 0 says nothing
    known = (cell for cell in header if cell.casefold() == FEEDBACK.casefold())
    said = (options.feedback_column or next(known, "")) if platform == "Moodle" else ""
    feedback = _column(header, said) if said else None
    return GradeTable(layout, table, people, at, worth, feedback)


def into_gradebook(platform: str, text: str, class_: Iterable[Graded], options: Options) -> Merged:
    """Return the platform's table with grades and comments, and every other byte unchanged.

    Empty cells are filled in. Other grades and comments stay, unless they are to be overwritten.
    """
    sheet = _read_sheet(platform, text, options)
    class_ = list(class_)
    found = [*_find_rows(class_, sheet, options.answer)]
    rows = {row: graded for graded, row, reason in found if not reason}
    scored = {row: graded for row, graded in rows.items() if _has_score(graded)}
    changes: dict[tuple[int, int], str] = {}
    kept: list[str] = []
    cells = (cell for row in sheet.table for cell in row[sheet.grade : sheet.grade + 2])
    mark = "," if any(re.fullmatch(r"\s*\d+,\d+\s*", cell) for cell in cells) else "."
    for row, graded in rows.items():
        there, new = sheet.table[row][sheet.grade], _write_score(graded, sheet, mark)
        if not _may_replace(there, new, options):
            kept.append(f"{one_line(graded.student, 60)}: {there} there, {new or 'none'} here")
            continue
        if new:
            changes[row, sheet.grade] = new
        if sheet.feedback is not None and _has_score(graded):
            said = html.escape(" ".join(describe(graded)), quote=False)
            if sheet.table[row][sheet.feedback].strip() in ("", said) or options.overwrite:
                changes[row, sheet.feedback] = said
            else:
                kept.append(f"{one_line(graded.student, 60)}: the feedback comment there")
    return Merged(
        replace_cells(text, changes),
        sum(column == sheet.grade for _, column in changes),
        len(scored),
        {one.student: reason for one, _, reason in found if reason and _has_score(one)},
        [one.student for one in class_ if not _has_score(one)],
        [*_list_notes([*scored.values()], sheet)],
        kept,
    )
