"""Read and write changes by hand, `overrides.csv`. Each mistake in it is one sentence.

What is written keeps the instructor's own rows and columns.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.classroom.course import refuse
from grader.classroom.exports.cells import protect_cell, text_of
from grader.classroom.people import compose
from grader.classroom.tables import Cells, Row, name_cells, read_table, write_table
from grader.report.problem import CourseError
from grader.report.sanitize import one_line
from grader.steps.registry import Registry

HEADER = "student_id,step_or_check,points,excuse,comment,who,when"
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


def read_overrides(path: Path, registry: Registry) -> list[Override]:
    """Return the changes by hand in a file; none if there is no file, or an empty one."""
    if not path.exists() or not path.stat().st_size:
        return []
    return parse_overrides(path.name, read_table(path), registry)


def parse_overrides(name: str, rows: Sequence[Row], registry: Registry) -> list[Override]:
    """Return the changes by hand in the rows of a file of that name."""
    found = [
        _override(f"{name}, row {number}", number, one, registry)
        for number, one in enumerate(name_cells(name, rows, HEADER, HEADER.split(",")), start=2)
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
    points, excuse = text["points"], text["excuse"].casefold()
    step, _, line = text["step_or_check"].partition(":")
    id, steps = _target(where, step, registry), [one.id for one in registry.steps]
    is_excused = excuse in _YES
    is_line = not (points or is_excused) and id in steps and re.fullmatch(r"[1-9]\d{0,5}", line)
    unsigned = [name for name in ("who", "when") if not text[name]]
    is_number = re.fullmatch(r"\d{1,6}([.,]\d{1,6})?", points, re.ASCII)
    may_be_thousands = re.fullmatch(r"[1-9]\d{0,2},\d{3}", points, re.ASCII)
    wrong = {
        "`points` must be a number of at least 0": points and not is_number,
        f"`points` {points} may be thousands: use a point": may_be_thousands,
        "whose is it? Fill in `student_id`": not text["student_id"],
        f"fill in `{''.join(unsigned[:1])}`: a change says who made it, and when": unsigned,
        "`excuse` must be yes, or empty": not is_excused and excuse not in ("", "no", "0"),
        "either `points` or `excuse`, not both": points and is_excused,
        "it changes nothing: fill in points, excuse or comment": not (
            points or is_excused or text["comment"]
        ),
        "a line of a step, such as `3:12`, can have a comment only": line and not is_line,
        "only a step or the whole can be excused": is_excused and id not in ("", *steps),
    }
    refuse(wrong, f"{where}: ")
    who, when, comment = (one_line(text[name], 500) for name in ("who", "when", "comment"))
    number = float(points.replace(",", ".")) if points else None
    return Override(
        *(row, text["student_id"], id, number, is_excused, comment, who, when, int(line or 0))
    )


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


def last_of_each(mine: Sequence[Override]) -> list[Override]:
    """Return the changes of a student, of those on one target only the last.

    Two people may have named the student in different ways.
    """
    last = {one.target: one.row for one in mine if one.is_grade}
    return [one for one in mine if not one.is_grade or one.row == last[one.target]]


def key_of(one: Override) -> str:
    """Return the key of a change, which does not depend on the place of its row."""
    text = repr(replace(one, row=0))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def edit(
    path: Path, registry: Registry, gone: Collection[Override], cells: Mapping[str, str]
) -> None:
    """Take changes back, and append the one in the cells, if there is one.

    cells: as they were typed, by column. Raise CourseError if the file would be wrong, which stays
    as it is then. Raise OSError if it cannot be written.
    """
    is_old = path.exists() and path.stat().st_size
    header, *rows = read_table(path) if is_old else [HEADER.split(",")]
    lost = {one.row for one in gone}
    rows = [row for number, row in enumerate(rows, start=2) if number not in lost]
    rows.append([protect_cell(cells.get(name.casefold(), "").strip()) for name in header])
    parse_overrides(path.name, [header, *rows], registry)
    write_table(path, [row for row in (header, *rows) if any(row)])
