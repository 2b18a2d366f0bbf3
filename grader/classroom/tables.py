"""Read and write an instructor's CSV files: the class list, and `matches.csv`.

There the instructor says whose unmatched work is. A mistake is one sentence.
"""

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.classroom.course import MAX_TABLE, read_own
from grader.classroom.exports.cells import MARK, find_separator, protect_cell, read, text_of
from grader.classroom.exports.gradebooks import TEST_STUDENT, find_layout, list_people
from grader.classroom.people import Owners, Person, compose, person
from grader.report.files import write_whole
from grader.report.problem import CourseError
from grader.report.records import Graded, Who
from grader.report.sanitize import one_line

MAX_ROWS = 20_000
# The columns of an own list: the id, name, address, number, and when the work was handed in.
_COLUMNS = (
    ("student_id", "id", "login", "username", "identifier", "roster_identifier"),
    ("name", "full name", "student", "fullname"),
    ("email", "email address", "e-mail", "mail"),
    ("number", "lms_id", "github_username"),
    ("submitted", "submitted_at", "submission_timestamp", "timestamp"),
)
_MOODLE_TIMES = tuple(
    f"{day}, {clock}"
    for day in ("%A, %d %B %Y", "%d %B %Y", "%A, %B %d, %Y", "%B %d %Y")
    for clock in ("%I:%M %p", "%H:%M")
)
MATCHES = "matches.csv"
MATCHES_HEADER = ("work", "platform", "number", "name", "email", "reason", "student_id")
Row = Sequence[str]
Cells = dict[str, str]


def read_table(path: Path) -> list[list[str]]:
    """Return the cells of a CSV file; at least a header without cells."""
    text = read_own(path, MAX_TABLE)[0]
    try:
        rows = [[cell.strip() for cell in row] for row in read(text)]
    except CourseError as error:
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
    was = read_own(path, MAX_TABLE)[0] if path.exists() else ""
    text = io.StringIO()
    text.write(MARK if was.startswith(MARK) else "")
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
    is_own = {*map(str.casefold, rows[0])} & {"student_id", "github_username"}
    if find_layout(rows) and not is_own:
        found = [one for one in list_people(rows) if TEST_STUDENT not in one.names]
        for number in (one.who.number for one in found):
            if not re.fullmatch(r"\d*", number, re.ASCII):
                raise CourseError(
                    f"{one_line(number, 40)!r} is not an ID of Canvas: export the gradebook again, "
                    "and do not save it in a spreadsheet, which rounds such numbers"
                )
    else:
        cells = name_cells(path.name, rows, "", ())
        found = [_own_person(path, one) for one in cells if one]
    if not found:
        raise CourseError(f"{path.name} has nobody in it")
    id, count = Counter(one.id for one in found).most_common(1)[0]
    if count > 1:
        raise CourseError(f"{path.name} has {one_line(id, 60)!r} twice")
    times = (read_time(one.who.submitted, timezone) for one in found)
    return [replace(one, who=replace(one.who, submitted=when)) for one, when in zip(found, times)]


def read_time(text: str, timezone: str) -> str:
    """Return a time with its zone: ISO 8601, or Moodle's in English. Another text stays as it is.

    >>> read_time("Friday, 20 November 2026, 11:10 PM", "Europe/Berlin")
    '2026-11-20T23:10:00+01:00'
    """
    for form in ("", *_MOODLE_TIMES):
        with suppress(ValueError):
            iso = text.replace(" UTC", "+00:00")
            found = datetime.strptime(text, form) if form else datetime.fromisoformat(iso)
            if found.tzinfo is None and timezone:
                found = found.replace(tzinfo=ZoneInfo(timezone))
            return found.isoformat() if found.tzinfo else text
    return text


def _own_person(path: Path, cells: Cells) -> Person:
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
    plain = re.sub(r"\A[^\W\d_]{3,40} (\d+)\Z", r"\1", number or "")  # of `Participant 123`
    who = Who("", plain, name or "", mail or "", submitted=submitted or "")
    return person(id, who, [plain, number or ""])


def _rows(path: Path) -> list[Cells]:
    """Return the rows that have a work. Raise CourseError for a file that is not of this kind."""
    if not path.exists() or not path.stat().st_size:
        return []
    rows = name_cells(path.name, read_table(path), ",".join(MATCHES_HEADER), ("work", "student_id"))
    return [cells for cells in rows if cells.get("work")]


def work_key(work: str) -> str:
    """Return the key of a work, by its id or by the cell that has it."""
    return compose(text_of(protect_cell(work.strip())))


def read_matches(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the ids of the owners that the instructor has filled in, by the work's id.

    Several ids, separated by `;`, are those of a team. Raise CourseError if the file is wrong.
    """
    found: dict[str, tuple[str, ...]] = {}
    for cells in _rows(path):
        texts = (text_of(part.strip()) for part in cells["student_id"].split(";"))
        ids = tuple(dict.fromkeys(text for text in texts if text))
        if ids and found.setdefault(work_key(cells["work"]), ids) != ids:
            work = one_line(cells["work"], 60)
            raise CourseError(f"{path.name} has {work!r} twice, with other owners")
    return found


def write_matches(path: Path, answer: Owners) -> None:
    """Write the unmatched works, and keep what the instructor has filled in."""
    kept = [cells for cells in _rows(path) if cells["student_id"]]
    known = {work_key(cells["work"]) for cells in kept}
    new = [
        dict(zip(MATCHES_HEADER, map(protect_cell, _describe(one, answer.unmatched[one.student]))))
        for one in answer.class_
        if one.student in answer.unmatched and work_key(one.student) not in known
    ]
    if kept or new or path.exists():
        header = dict.fromkeys(itertools.chain(MATCHES_HEADER, *kept))
        rows = [[cells.get(name, "") for name in header] for cells in (*kept, *new)]
        write_table(path, [[*header], *rows])


def _describe(work: Graded, reason: str) -> tuple[str, ...]:
    who = work.who
    return (work.student.strip(), who.platform, who.number, who.name, who.email, reason)
