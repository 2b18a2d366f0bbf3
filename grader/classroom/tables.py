"""Read an instructor's CSV files: class list and changes by hand. Each mistake is one sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.classroom.course import MAX_TABLE, CourseError, instructors_text
from grader.classroom.exports.cells import read
from grader.classroom.exports.gradebooks import TEST_STUDENT, find_layout, list_people
from grader.classroom.exports.moodle import PARTICIPANT, holds_names, is_maximum
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
_ADDRESS = re.compile(r"[^@\s]{1,100}@[^@\s]{1,200}")
_IDENTIFIER = re.compile(r"([^\W\d]\D{4,40})(\d+)")  # `Participant 123`, and not `K123`
_CLOCK = r"(?P<year>\d{4}),? (?P<hour>\d{1,2}):(?P<minute>\d\d)(?: ?(?P<half>[ap])m)?"
_MOODLE_TIMES = (
    rf"(?:[\w-]+,? )?(?P<day>\d{{1,2}})\.?(?: de)? (?P<month>\w+),?(?: de)? {_CLOCK}",
    rf"(?:\w+, )?(?P<month>\w+) (?P<day>\d{{1,2}}),? {_CLOCK}",  # in the United States
)
_PARTS = ("day", "month", "year", "hour", "minute", "half")
_MONTHS = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
)
_YES = ("yes", "y", "x", "1", "true", "ex", "excused")


@dataclass(frozen=True)
class Override:
    """A change by hand. target: a step's or check's id; "" for the whole assignment."""

    row: int
    student: str
    target: str
    points: float | None
    excuse: bool
    comment: str
    who: str
    when: str

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
    header, below = rows[0], [row for row in rows[1:] if row and any(row)]
    if find_layout(rows) and _at(header, _OWN) is None:
        found = _gradebook(rows)
    elif _is_worksheet(header, below):
        found = _moodle(header, below, timezone)
    else:
        found = _own(path, header, below, timezone)
    seen: set[str] = set()
    for one in found:
        if one.id in seen:
            raise CourseError(f"{path.name} has {one_line(one.id, 60)!r} twice")
        seen.add(one.id)
    if not found:
        raise CourseError(f"{path.name} has nobody in it")
    return found


def _is_worksheet(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether it is Moodle's worksheet, whose header may be in any language.

    The ids on another list may be numbers too, such as `s1001`.
    """
    if len(header) < 2 or _at(header, _OWN) is not None:
        return False
    return bool(rows) and all(PARTICIPANT.fullmatch(row[0]) for row in rows)


def _gradebook(rows: Sequence[Sequence[str]]) -> list[Person]:
    """Return the people in a platform's table of grades."""
    people = []
    for one in list_people(rows):
        number, who = one.who.number, one.who
        if number and re.fullmatch(r"\d+", number, re.ASCII) is None:
            raise CourseError(
                f"{one_line(number, 40)!r} is not an ID of Canvas: export the gradebook again, and "
                "do not save it in a spreadsheet, which rounds such numbers"
            )
        written = next((name for name in one.names if "," in name), who.name)
        if written != TEST_STUDENT:
            id = f"{written} ({number})" if number else one.id
            people.append(person(id, who, one.names, one.logins))
    return people


def moodle_time(text: str, timezone: str) -> str:
    """Return a time in Moodle's format as ISO 8601; "" for anything else.

    >>> moodle_time("Friday, 20 November 2026, 11:10 PM", "Europe/Berlin")
    '2026-11-20T23:10:00+01:00'
    """
    match = _match_time(text)
    if match is None or not timezone:
        return ""
    day, word, year, hour, minute, half = match.group(*_PARTS)
    months = [
        names.split().index(word.lower()) for names in _MONTHS if word.lower() in names.split()
    ]
    hours = int(hour) % 12 + 12 * (half.lower() == "p") if half else int(hour)
    try:
        found = datetime(int(year), months[0] + 1, int(day), hours, int(minute))
    except (ValueError, IndexError):
        return ""
    return found.replace(tzinfo=ZoneInfo(timezone)).isoformat()


def _find_submission_times(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int | None:
    """Return the column of hand-in times: the first column of times behind the maximum grade.

    Before that may be the dates of overrides. The last column of times is when somebody graded.
    Between the two are texts that students have typed.
    """
    columns = {place: [_cell(row, place) for row in rows] for place in range(1, len(header))}
    most = next((place for place, cells in columns.items() if is_maximum(cells)), 0)
    times = [p for p, cells in columns.items() if p > most and all(map(_is_moodle_time, cells))]
    return times[0] if len(times) == 2 or (most and len(times) > 2) else None


def _find_addresses(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int | None:
    """Return the column of addresses: by its name, or the first where most cells are addresses.

    Only columns before all times are looked at. Behind them are texts that students have typed.
    """
    named = _at(header, _MAILS)
    if named is not None:
        return named
    for place in range(1, len(header)):
        cells = [_cell(row, place) for row in rows]
        if all(map(_is_moodle_time, cells)):
            return None
        if 2 * sum(_ADDRESS.fullmatch(cell) is not None for cell in cells) > len(cells):
            return place
    return None


def _match_time(text: str) -> re.Match[str] | None:
    tried = (re.fullmatch(pattern, text, re.IGNORECASE) for pattern in _MOODLE_TIMES)
    return next(filter(None, tried), None)


def _is_moodle_time(text: str) -> bool:
    return text == "-" or _match_time(text) is not None


def _moodle(header: Sequence[str], rows: Sequence[Sequence[str]], timezone: str) -> list[Person]:
    mail, times = _find_addresses(header, rows), _find_submission_times(header, rows)
    named = holds_names(header, rows)
    people = []
    for row in rows:
        match = PARTICIPANT.fullmatch(row[0])
        assert match is not None  # it was checked
        name = _cell(row, 1) if named else ""
        email = _cell(row, mail)
        written = _cell(row, times)
        # A time that cannot be read stays, so that `grade` names it.
        submitted = moodle_time(written, timezone) or (written if timezone else "").strip("-")
        who = Who("Moodle", match[1], name, email, submitted=submitted)
        called = name or row[0][: match.start(1)].strip()
        people.append(person(f"{called}_{match[1]}", who, [row[0]]))
    return people


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
            f"{path.name} has no column `student_id`: name it so, or take Canvas' gradebook or "
            "Moodle's grading worksheet"
        )
    name, mail, number = (_at(header, one) for one in (_NAMES, _MAILS, _NUMBERS))
    times = _at(header, _TIMES)
    people = []
    matches = [_IDENTIFIER.fullmatch(_cell(row, number)) for row in rows]
    # Moodle's word is the same for everybody; logins may look like it.
    is_moodles = len({match[1] for match in matches if match}) == 1
    for row, match in zip(rows, matches):
        if not _cell(row, id):
            raise CourseError(f"{path.name} has a row without a student_id")
        written = _cell(row, number)
        found = match[2] if match and is_moodles else written
        who = Who("", found, _cell(row, name), _cell(row, mail))
        who = Who(**{**vars(who), "submitted": _own_time(_cell(row, times), timezone)})
        people.append(person(_cell(row, id), who, [who.number, written]))
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
    id = _target(where, target, registry)
    if excuse in _YES and id not in ("", *(step.id for step in registry.steps)):
        raise CourseError(f"{where}: only a step or the whole can be excused")
    who, when, comment = (one_line(text[name], 500) for name in ("who", "when", "comment"))
    return Override(row, student, id, points, excuse in _YES, comment, who, when)


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
