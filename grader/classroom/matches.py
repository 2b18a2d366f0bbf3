"""Read and write `matches.csv`, where the instructor says whose unmatched work is."""

from __future__ import annotations

from pathlib import Path

from grader.classroom.course import CourseError
from grader.classroom.exports.spreadsheet import protect_cell, row, text_of
from grader.classroom.people import Owners, compose
from grader.classroom.tables import read_table
from grader.report.files import write_whole
from grader.report.records import Graded
from grader.report.sanitize import one_line

MATCHES = "matches.csv"
HEADER = ("work", "platform", "number", "name", "email", "reason", "student_id")


def _rows(path: Path) -> list[dict[str, str]]:
    """Return the rows that have a work. Raise CourseError for a file that is not of this kind."""
    if not path.exists() or not path.stat().st_size:
        return []
    table = read_table(path)
    header = [cell.casefold() for cell in table[0]]
    for name in ("work", "student_id"):
        if name not in header:
            raise CourseError(
                f"{path.name} has no column `{name}`: its header is {','.join(HEADER)}"
            )
    rows = [dict(zip(header, cells)) for cells in table[1:]]
    return [cells for cells in rows if cells.get("work")]


def key_of(work: str) -> str:
    """Return the key of a work, by its id or by the cell that has it."""
    return compose(text_of(protect_cell(work.strip())))


def read_matches(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the ids of the owners that the instructor has filled in, by the work's id.

    Several ids, separated by `;`, are those of a team. Raise CourseError if the file is wrong.
    """
    found: dict[str, tuple[str, ...]] = {}
    for cells in _rows(path):
        texts = (text_of(part.strip()) for part in cells.get("student_id", "").split(";"))
        ids = tuple(dict.fromkeys(text for text in texts if text))
        if ids and found.setdefault(key_of(text_of(cells["work"])), ids) != ids:
            work = one_line(cells["work"], 60)
            raise CourseError(f"{path.name} has {work!r} twice, with other owners")
    return found


def write_matches(path: Path, answer: Owners) -> None:
    """Write the unmatched works, and keep what the instructor has filled in."""
    kept = [cells for cells in _rows(path) if cells.get("student_id")]
    header = tuple(dict.fromkeys([*HEADER, *(name for cells in kept for name in cells)]))
    written = [[cells.get(name, "") for name in header] for cells in kept]
    known = {key_of(text_of(cells["work"])) for cells in kept}
    unmatched = (one for one in answer.class_ if one.student in answer.unmatched)
    new = [
        [*map(protect_cell, _describe(one, answer.unmatched[one.student])), ""]
        for one in unmatched
        if key_of(one.student) not in known
    ]
    if written or new or path.exists():
        write_whole(path, map(row, [header, *written, *new]))


def _describe(work: Graded, reason: str) -> tuple[str, ...]:
    who = work.who
    return (work.student.strip(), who.platform, who.number, who.name, who.email, reason)
