"""Read and write `matches.csv`, where the instructor says whose unmatched work is."""

import itertools
from pathlib import Path

from grader.classroom.exports.cells import protect_cell, text_of
from grader.classroom.people import Owners, compose
from grader.classroom.tables import Cells, name_cells, read_table, write_table
from grader.report.problem import CourseError
from grader.report.records import Graded
from grader.report.sanitize import one_line

MATCHES = "matches.csv"
HEADER = ("work", "platform", "number", "name", "email", "reason", "student_id")


def _rows(path: Path) -> list[Cells]:
    """Return the rows that have a work. Raise CourseError for a file that is not of this kind."""
    if not path.exists() or not path.stat().st_size:
        return []
    rows = name_cells(path.name, read_table(path), ",".join(HEADER), ("work", "student_id"))
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
        dict(zip(HEADER, map(protect_cell, _describe(one, answer.unmatched[one.student]))))
        for one in answer.class_
        if one.student in answer.unmatched and work_key(one.student) not in known
    ]
    if kept or new or path.exists():
        header = dict.fromkeys(itertools.chain(HEADER, *kept))
        rows = [[cells.get(name, "") for name in header] for cells in (*kept, *new)]
        write_table(path, [[*header], *rows])


def _describe(work: Graded, reason: str) -> tuple[str, ...]:
    who = work.who
    return (work.student.strip(), who.platform, who.number, who.name, who.email, reason)
