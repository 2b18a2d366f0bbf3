"""Read an instructor's CSV files: class list and changes by hand. Each mistake is one sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.classroom.course import MAX_TABLE, CourseError, instructors_text
from grader.classroom.exports.cells import read
from grader.classroom.exports.gradebooks import TEST_STUDENT, find_layout, list_people
from grader.classroom.exports.options import ExportError
from grader.classroom.exports.spreadsheet import text_of
from grader.classroom.people import Person, compose, person
from grader.report.records import Who
from grader.report.sanitize import one_line
from grader.steps.registry import Registry

MAX_ROWS = 20_000
HEADER = "student_id,step_or_check,points,excuse,comment,who,when"
_IDS = ("student_id", "id", "login", "username", "identifier")
_OWN = ("student_id", "github_username")  # only lists of other kinds have these
_NAMES = ("name", "full name", "student", "fullname")
_MAILS = ("email", "email address", "e-mail", "mail")
_NUMBERS = ("number", "lms_id", "github_username")
_TIMES = ("submitted", "submitted_at", "timestamp")
_IDENTIFIER = re.compile(r"\A[^\W\d_]{3,40} (\d+)\Z")  # `Participant 123`
_MOODLE_TIMES = tuple(
    f"{day}, {clock}"
    for day in ("%A, %d %B %Y", "%d %B %Y", "%A, %B %d, %Y", "%B %d %Y")
    for clock in ("%I:%M %p", "%H:%M")
)
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
    """Return the cells of a CSV file, without empty rows at its end."""
    try:
        text = instructors_text(path, MAX_TABLE)
        rows = [[cell.text.strip() for cell in row] for row in read(text)]
    except ExportError as error:
        raise CourseError(f"{path.name}: {error}") from None
    if len(rows) > MAX_ROWS:
        raise CourseError(f"{path.name} has more than {MAX_ROWS:,} rows")
    return rows


def _at(header: Sequence[str], names: Sequence[str]) -> int | None:
    folded = [name.casefold() for name in header]
    return next((folded.index(name) for name in names if name in folded), None)


def _cell(row: Sequence[str], at: int | None) -> str:
    return row[at] if at is not None and at < len(row) else ""


def read_roster(path: Path, timezone: str = "") -> list[Person]:
    """Return the people on a class list: a platform's table of grades, or another CSV.

    Another CSV needs a column `student_id`, or GitHub Classroom's columns. The columns `name`,
    `email`, `number` and `submitted` are used if they exist. Moodle's times, and others without a
    zone, are in timezone; without one they are not read.
    """
    rows = read_table(path)
    if find_layout(rows) and _at(rows[0], _OWN) is None:
        found = [_with_time(one, timezone) for one in list_people(rows) if _is_person(one)]
    else:
        found = _own(path, rows[0], [row for row in rows[1:] if row and any(row)], timezone)
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
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    if found.tzinfo is None and timezone:
        return found.replace(tzinfo=ZoneInfo(timezone)).isoformat()
    return text


def _own(
    path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], timezone: str
) -> list[Person]:
    id = _at(header, _IDS)
    if id is None:
        raise CourseError(
            f"{path.name} has no column `student_id`: name it so, or take a platform's own table, "
            "with headers in English"
        )
    name, mail, number = (_at(header, one) for one in (_NAMES, _MAILS, _NUMBERS))
    times = _at(header, _TIMES)
    people = []
    for row in rows:
        if not _cell(row, id):
            raise CourseError(f"{path.name} has a row without a student_id")
        written = _cell(row, number)
        submitted = _own_time(_cell(row, times), timezone)
        plain = _IDENTIFIER.sub(r"\1", written)
        who = Who("", plain, _cell(row, name), _cell(row, mail), submitted=submitted)
        people.append(person(_cell(row, id), who, [plain, written]))
    return people


def read_overrides(path: Path, registry: Registry) -> list[Override]:
    """Return the changes by hand in a file; none if there is no file, or an empty one."""
    if not path.exists() or not path.stat().st_size:
        return []
    rows = read_table(path)
    columns = HEADER.split(",")
    header = [cell.casefold() for cell in rows[0]]
    if missing := [name for name in columns if name not in header]:
        raise CourseError(f"{path.name} has no column `{missing[0]}`: its header is {HEADER}")
    found = []
    for number, row in enumerate(rows[1:], start=2):
        if row and any(row):
            cells = {name: _cell(row, header.index(name)) for name in columns}
            found.append(_override(f"{path.name}, row {number}", number, cells, registry))
    seen: dict[tuple[str, str, str], int] = {}
    for one in found:
        kind = "points" if one.points is not None else "excuse" if one.excuse else ""
        key = (compose(one.student), one.target, "change" if kind else f"comment {one.row}")
        if key in seen:
            raise CourseError(f"{path.name}: rows {seen[key]} and {one.row} change the same thing")
        seen[key] = one.row
    return found


def _override(where: str, row: int, cells: dict[str, str], registry: Registry) -> Override:
    text = {name: text_of(cell) for name, cell in cells.items()}
    student, target = cells["student_id"], text["step_or_check"]
    if not student:
        raise CourseError(f"{where}: whose is it? Fill in `student_id`")
    for name in ("who", "when"):
        if not text[name]:
            raise CourseError(f"{where}: fill in `{name}`: a change says who made it, and when")
    points: float | None = None
    if text["points"]:
        if not re.fullmatch(r"\d{1,6}([.,]\d{1,6})?", text["points"], re.ASCII):
            raise CourseError(f"{where}: `points` must be a number of at least 0")
        if re.fullmatch(r"[1-9]\d{0,2},\d{3}", text["points"], re.ASCII):
            raise CourseError(f"{where}: `points` {text['points']} may be thousands: use a point")
        points = float(text["points"].replace(",", "."))
    excuse = text["excuse"].casefold()
    if excuse and excuse not in (*_YES, "no", "0"):
        raise CourseError(f"{where}: `excuse` must be yes, or empty")
    if points is not None and excuse in _YES:
        raise CourseError(f"{where}: either `points` or `excuse`, not both")
    if points is None and excuse not in _YES and not text["comment"]:
        raise CourseError(f"{where}: it changes nothing: fill in points, excuse or comment")
    step, _, line = target.partition(":")
    if line and (points is not None or excuse in _YES or not re.fullmatch(r"[1-9]\d{0,5}", line)):
        raise CourseError(f"{where}: a line, such as `3:12`, can have a comment only")
    id = _target(where, step, registry)
    if line and id not in {one.id for one in registry.steps}:
        raise CourseError(f"{where}: a line is of a step, such as `3:12`")
    if excuse in _YES and id not in ("", *(step.id for step in registry.steps)):
        raise CourseError(f"{where}: only a step or the whole can be excused")
    who, when, comment = (one_line(text[name], 500) for name in ("who", "when", "comment"))
    is_excused = excuse in _YES
    return Override(row, student, id, points, is_excused, comment, who, when, int(line or 0))


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
