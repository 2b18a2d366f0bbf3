"""Read an instructor's CSV files: class list and changes by hand. Each mistake is one sentence."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.classroom.course import MAX_TABLE, CourseError, instructors_text
from grader.classroom.exports.cells import MARK, find_separator, read
from grader.classroom.exports.gradebooks import TEST_STUDENT, find_layout, list_people
from grader.classroom.exports.options import ExportError
from grader.classroom.exports.spreadsheet import text_of
from grader.classroom.people import Person, compose, person
from grader.report.files import write_whole
from grader.report.records import Who
from grader.report.sanitize import one_line
from grader.steps.registry import Registry

MAX_ROWS = 20_000
HEADER = "student_id,step_or_check,points,excuse,comment,who,when"
_OWN = ("student_id", "github_username")  # only lists of other kinds have these
# The columns of an own list: the id, name, address, number, and when the work was handed in.
_COLUMNS = (
    ("student_id", "id", "login", "username", "identifier", "roster_identifier"),
    ("name", "full name", "student", "fullname"),
    ("email", "email address", "e-mail", "mail"),
    ("number", "lms_id", "github_username"),
    ("submitted", "submitted_at", "submission_timestamp", "timestamp"),
)
_IDENTIFIER = re.compile(r"\A[^\W\d_]{3,40} (\d+)\Z")  # `Participant 123`
_MOODLE_TIMES = tuple(
    f"{day}, {clock}"
    for day in ("%A, %d %B %Y", "%d %B %Y", "%A, %B %d, %Y", "%B %d %Y")
    for clock in ("%I:%M %p", "%H:%M")
)
Row = Sequence[str]
Cells = dict[str, str]
_YES = ("yes", "y", "x", "1", "true", "ex", "excused")


@dataclass(frozen=True)
class Override:
    """A change by hand. target: a step's or check's id; "" for the whole assignment.

    line: of the step's file, for a comment; 0 if there is none.
    """

    row: int
    student: str
    target: str
    points: float | None
    excuse: bool
    comment: str
    who: str
    when: str
    line: int = 0

    @property
    def is_grade(self) -> bool:
        """Return whether it changes points or excuses, and is not only a comment."""
        return self.points is not None or self.excuse

    @property
    def signed(self) -> str:
        """Return who made the change, and when."""
        return f"{self.who}, {self.when}"


def read_table(path: Path) -> list[list[str]]:
    """Return the cells of a CSV file; at least a header without cells."""
    try:
        text = instructors_text(path, MAX_TABLE)
        rows = [[cell.text.strip() for cell in row] for row in read(text)]
    except ExportError as error:
        raise CourseError(f"{path.name}: {error}") from None
    if len(rows) > MAX_ROWS:
        raise CourseError(f"{path.name} has more than {MAX_ROWS:,} rows")
    return rows or [[]]


def name_cells(name: str, rows: Sequence[Row], columns: str, needed: Sequence[str]) -> list[Cells]:
    """Return the rows below the header as cells by column; an empty row has none.

    name: the file's. Raise CourseError, with the right header, if a needed column is missing.
    """
    header = [cell.casefold() for cell in rows[0]]
    for one in needed:
        if one not in header:
            raise CourseError(f"{name} has no column `{one}`: its header is {columns}")
    wide = [""] * len(header)
    return [dict(zip(header, [*row, *wide])) if any(row) else {} for row in rows[1:]]


def write_table(path: Path, rows: Iterable[Row]) -> None:
    """Write an instructor's own table, with the separator, mark and line ends that it had."""
    old = path.read_bytes() if path.exists() else b""
    marked = old[:2] in (b"\xef\xbb", b"\xff\xfe", b"\xfe\xff")
    text = io.StringIO(MARK if marked else "")
    text.seek(0, io.SEEK_END)
    was = instructors_text(path, MAX_TABLE) if old else ""
    end = "\r\n" if "\r\n" in was else "\n"
    csv.writer(text, delimiter=find_separator(was), lineterminator=end).writerows(rows)
    write_whole(path, [text.getvalue()])


def read_roster(path: Path, timezone: str = "") -> list[Person]:
    """Return the people on a class list: a platform's table of grades, or another CSV.

    Another CSV needs a column `student_id`, or GitHub Classroom's columns. The columns `name`,
    `email`, `number` and `submitted` are used if they exist. Moodle's times, and others without a
    zone, are in timezone; without one they are not read.
    """
    rows = read_table(path)
    if find_layout(rows) and not {*map(str.casefold, rows[0])} & {*_OWN}:
        found = [_with_time(one, timezone) for one in list_people(rows) if _is_person(one)]
    else:
        cells = name_cells(path.name, rows, "", ())
        found = [_own_person(path, one, timezone) for one in cells if one]
    seen: set[str] = set()
    for one in found:
        if one.id in seen:
            raise CourseError(f"{path.name} has {one_line(one.id, 60)!r} twice")
        seen.add(one.id)
    if not found:
        raise CourseError(f"{path.name} has nobody in it")
    return found


def _is_person(one: Person) -> bool:
    """Return whether it is not a test student. Raise CourseError for a number that is not one."""
    if not re.fullmatch(r"\d*", one.who.number, re.ASCII):
        raise CourseError(
            f"{one_line(one.who.number, 40)!r} is not an ID of Canvas: export the gradebook again, "
            "and do not save it in a spreadsheet, which rounds such numbers"
        )
    return TEST_STUDENT not in one.names


def _with_time(one: Person, timezone: str) -> Person:
    """Return a person with the time of Moodle's worksheet; one that is not read stays as it is."""
    written = one.who.submitted
    return replace(one, who=replace(one.who, submitted=moodle_time(written, timezone) or written))


def moodle_time(text: str, timezone: str) -> str:
    """Return a time in Moodle's English format as ISO 8601; "" for anything else.

    >>> moodle_time("Friday, 20 November 2026, 11:10 PM", "Europe/Berlin")
    '2026-11-20T23:10:00+01:00'
    """
    for form in _MOODLE_TIMES if timezone else ():
        with suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=ZoneInfo(timezone)).isoformat()
    return ""


def _own_time(text: str, timezone: str) -> str:
    """Return a time with its zone; a text that is not a time stays as it is."""
    try:
        found = datetime.fromisoformat(text.replace(" UTC", "+00:00"))
    except ValueError:
        return text
    if found.tzinfo is None and timezone:
        found = found.replace(tzinfo=ZoneInfo(timezone))
    return found.isoformat() if found.tzinfo else text


def _own_person(path: Path, cells: Cells, timezone: str) -> Person:
    """Return the person in a row of an instructor's own list."""
    id, name, mail, number, submitted = (
        next((cells[one] for one in names if one in cells), None) for names in _COLUMNS
    )
    if id is None:
        raise CourseError(
            f"{path.name} has no column `student_id`: name it so, or take a platform's own table, "
            "with headers in English"
        )
    if not id:
        raise CourseError(f"{path.name} has a row without a student_id")
    plain = _IDENTIFIER.sub(r"\1", number or "")
    when = _own_time(submitted or "", timezone)
    return person(id, Who("", plain, name or "", mail or "", submitted=when), [plain, number or ""])


def read_overrides(path: Path, registry: Registry) -> list[Override]:
    """Return the changes by hand in a file; none if there is no file, or an empty one."""
    if not path.exists() or not path.stat().st_size:
        return []
    return parse_overrides(path.name, read_table(path), registry)


def parse_overrides(name: str, rows: Sequence[Row], registry: Registry) -> list[Override]:
    """Return the changes by hand in the rows of a file of that name."""
    cells = name_cells(name, rows, HEADER, HEADER.split(","))
    found = [
        _override(f"{name}, row {number}", number, one, registry)
        for number, one in enumerate(cells, start=2)
        if one
    ]
    seen: dict[tuple[str, str, str], int] = {}
    for one in found:
        key = (compose(one.student), one.target, "" if one.is_grade else str(one.row))
        if key in seen:
            raise CourseError(f"{name}: rows {seen[key]} and {one.row} change the same thing")
        seen[key] = one.row
    return found


def _override(where: str, row: int, cells: Cells, registry: Registry) -> Override:
    text = {name: text_of(cell) for name, cell in cells.items()}
    student = cells["student_id"]
    if not student:
        raise CourseError(f"{where}: whose is it? Fill in `student_id`")
    for name in ("who", "when"):
        if not text[name]:
            raise CourseError(f"{where}: fill in `{name}`: a change says who made it, and when")
    points, excuse = _read_points(where, text["points"]), text["excuse"].casefold()
    is_excused = excuse in _YES
    if excuse and not is_excused and excuse not in ("no", "0"):
        raise CourseError(f"{where}: `excuse` must be yes, or empty")
    if points is not None and is_excused:
        raise CourseError(f"{where}: either `points` or `excuse`, not both")
    if points is None and not is_excused and not text["comment"]:
        raise CourseError(f"{where}: it changes nothing: fill in points, excuse or comment")
    step, _, line = text["step_or_check"].partition(":")
    id, steps = _target(where, step, registry), [one.id for one in registry.steps]
    is_grade = points is not None or is_excused
    if line and (is_grade or id not in steps or not re.fullmatch(r"[1-9]\d{0,5}", line)):
        raise CourseError(f"{where}: a line of a step, such as `3:12`, can have a comment only")
    if is_excused and id not in ("", *steps):
        raise CourseError(f"{where}: only a step or the whole can be excused")
    who, when, comment = (one_line(text[name], 500) for name in ("who", "when", "comment"))
    return Override(row, student, id, points, is_excused, comment, who, when, int(line or 0))


def _read_points(where: str, text: str) -> float | None:
    if not text:
        return None
    if not re.fullmatch(r"\d{1,6}([.,]\d{1,6})?", text, re.ASCII):
        raise CourseError(f"{where}: `points` must be a number of at least 0")
    if re.fullmatch(r"[1-9]\d{0,2},\d{3}", text, re.ASCII):
        raise CourseError(f"{where}: `points` {text} may be thousands: use a point")
    return float(text.replace(",", "."))


def _target(where: str, name: str, registry: Registry) -> str:
    """Return the id of a step or a check, or "" for the whole assignment."""
    if name.casefold() in ("", "all", "total"):
        return ""
    if any(check.id == name for step in registry.steps for check in step.checks):
        return name
    try:
        return registry.find(name).id
    except ValueError:
        raise CourseError(f"{where}: there is no step or check {one_line(name, 60)!r}") from None
