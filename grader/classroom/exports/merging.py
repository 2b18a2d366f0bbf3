"""Fill grades into a table that an instructor has downloaded, and keep every other byte of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

from grader.classroom.exports.cells import Cell, replace_cells
from grader.classroom.exports.explanation import describe, is_own_description
from grader.classroom.exports.options import ExportError, Merged, Options
from grader.classroom.people import Claim, Directory, Person, Unmatched, find_best, resolve
from grader.report.records import Graded
from grader.report.sanitize import one_line

Row = list[Cell]
DECIMALS = 2  # as many as these platforms show
MOST_NAMES = 5  # in a note
_NOTHING = ("", "-", "n/a")


@dataclass(frozen=True)
class Sheet:
    """A platform's table of grades.

    people: the students by the number of their row. keys: a name for each of these rows that stays.
    grade: the column. most: what the assignment is worth there, if the table says so. skips:
    whether the platform skips scores above that, and may show fewer decimals than it gets. excused:
    how it writes that somebody is excused. feedback: the column of comments.
    """

    platform: str
    table: Sequence[Row]
    people: Mapping[int, Person]
    keys: Mapping[int, str]
    grade: int
    most: float | None = None
    skips: bool = False
    excused: str = ""
    feedback: int | None = None
    notes: tuple[str, ...] = ()


@dataclass
class _Placed:
    """The students by their row's number, and everyone who has no row of their own."""

    rows: dict[int, Graded] = field(default_factory=dict)
    unmatched: dict[str, str] = field(default_factory=dict)
    not_graded: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)


def _place(class_: Sequence[Graded], sheet: Sheet, options: Options) -> _Placed:
    """Give each student the row that only they have, by the rule of `grader.classroom.people`.

    Everybody on the class list claims a row, because a name in the table may be chosen.
    """
    answer, placed = options.answer or resolve(class_), _Placed()
    directory, numbers = Directory(list(sheet.people.values())), list(sheet.people)
    owners = [(graded, one) for graded in class_ for one in answer.owners_of(graded)]
    people = {one.id: one for one in answer.directory.people} if answer.is_listed else {}
    people |= {one.id: one for _, one in owners}
    named = {id: answer.directory.without_shared_names(one) for id, one in people.items()}
    found = {id: directory.find(one) for id, one in named.items()}
    claims: defaultdict[int, list[tuple[Claim, str]]] = defaultdict(list)
    for id, one in found.items():
        if not isinstance(one, Unmatched):
            claims[one[1]].append((one[0], id))
    for graded, owner in owners:
        row = found[owner.id]
        if isinstance(row, Unmatched):
            reason = row.reason.replace("on the class list", f"in the file from {sheet.platform}")
            placed.unmatched |= {graded.student: reason} if _has_score(graded) else {}
        elif find_best(claims[row[1]]) != [owner.id]:
            reason = "the row may be another student's"
            placed.unmatched |= {graded.student: reason} if _has_score(graded) else {}
        elif _has_score(graded):
            placed.rows[numbers[row[1]]] = graded
        elif _has_grade(sheet.table[numbers[row[1]]][sheet.grade].text):
            placed.earlier.append(graded.student)
    placed.not_graded += [one.student for one in class_ if not _has_score(one)]
    return placed


def _has_score(graded: Graded) -> bool:
    return graded.score is not None or graded.excused


def fill(text: str, sheet: Sheet, class_: Iterable[Graded], options: Options) -> Merged:
    """Return the table with grades and comments, and every other byte unchanged.

    Grades, excuses and comments that nopeek did not write stay.
    """
    placed = _place(list(class_), sheet, options)
    mark, shown = _forms(sheet)
    decimals = shown if sheet.skips else DECIMALS
    changes: dict[Cell, str] = {}
    cells: dict[str, str] = {}
    kept, commented, above, stay = [], [], 0, 0
    for number, graded in placed.rows.items():
        cell = sheet.table[number][sheet.grade]
        exported = options.exported.get(sheet.keys[number], ())
        mine = options.overwrite or is_ours(cell.text, exported, decimals)
        new = _new_text(graded, sheet, mark)
        if not mine and not is_ours(cell.text, [cell.text if new is None else new]):
            kept.append(graded.student)
            continue
        above += not graded.excused and _is_above(graded, sheet)
        if new is None:  # the grade there stays, and may be another person's
            stay += _has_grade(cell.text)
        else:
            changes[cell] = new
            if mine:
                cells[sheet.keys[number]] = new  # the same grade may be another person's
        if sheet.feedback is not None:
            said = sheet.table[number][sheet.feedback]
            if options.overwrite or is_own_description(said.text):
                changes[said] = describe(graded)
            else:
                commented.append(graded.student)
    notes = (*_note_scale(placed.rows, sheet.most), *sheet.notes)
    notes += (*_note_above(above, sheet), *_note_commented(commented), *_note_excused(stay, sheet))
    written = len(placed.rows) - len(kept)
    return Merged(
        *(replace_cells(text, changes), written, placed.unmatched, placed.not_graded, notes),
        *(kept, placed.earlier, cells),
    )


def _forms(sheet: Sheet) -> tuple[str, int]:
    """Return the decimal mark of the table, and how many decimals its numbers have at most."""
    rows = [row for row in sheet.table if len(row) > sheet.grade]
    texts = [cell.text for row in rows for cell in row[sheet.grade : sheet.grade + 2]]
    found = [re.fullmatch(r"\s*\d+([.,])(\d+)\s*", text, re.ASCII) for text in texts]
    known = [match for match in found if match]
    mark = "," if any(match[1] == "," for match in known) else "."
    return mark, max((len(match[2]) for match in known), default=0)


def _new_text(graded: Graded, sheet: Sheet, mark: str) -> str | None:
    """Return the text of the grade; None if the platform has no excuses."""
    if graded.excused:
        return sheet.excused or None
    if _is_above(graded, sheet):
        return f"{sheet.most:g}".replace(".", mark)
    # Six decimals, so that 15.625 is a half and 0.1 + 0.2 has no tail.
    exact = Decimal(str(round(scale_score(graded, sheet.most), 6)))
    text = str(exact.quantize(Decimal(1).scaleb(-DECIMALS), ROUND_HALF_UP))
    return text.rstrip("0").rstrip(".").replace(".", mark)


def _is_above(graded: Graded, sheet: Sheet) -> bool:
    most = sheet.most
    return sheet.skips and most is not None and scale_score(graded, most) > most


def scale_score(graded: Graded, most: float | None) -> float:
    """Return the score, scaled to the points of the platform's assignment, if these are known."""
    score, worth = graded.score or 0.0, graded.max_score
    return score * (most / worth if most and worth else 1.0)


def column(header: Row, name: str) -> int:
    """Return the place of the only column with that header. Raise ExportError otherwise."""
    places = [place for place, cell in enumerate(header) if cell.text == name]
    if not places:
        raise ExportError(f"it has no column {name!r}")
    if len(places) > 1:
        raise ExportError(f"it has {len(places)} columns {name!r}: rename all but one")
    return places[0]


def check_width(table: Sequence[Row]) -> None:
    """Raise ExportError if a row and the first one have different numbers of cells."""
    for number, row in enumerate(table, start=1):
        if row and len(row) != len(table[0]):
            raise ExportError(
                f"its row {number} has {len(row)} cells and its header {len(table[0])}: "
                "download the file again"
            )


def _has_grade(cell: str) -> bool:
    """Return whether a cell holds a grade or an excuse."""
    return cell.strip().casefold() not in _NOTHING


def is_ours(cell: str, texts: Collection[str], decimals: int = DECIMALS) -> bool:
    """Return whether a cell is empty, or holds one of these grades or excuses.

    decimals: as many as the platform writes, which may be fewer than nopeek's.

    >>> is_ours("8.3", ["8.33"]), is_ours("8.3", ["8.33"], decimals=1)
    (False, True)
    """
    now = cell.strip()
    if not _has_grade(now) or now in texts:
        return True
    number = read_number(now)
    known = [one for one in map(read_number, texts) if one is not None]
    near = 0.5 * 10**-decimals + 1e-9 if decimals < DECIMALS else 0.0
    return number is not None and any(abs(number - one) <= near for one in known)


def read_number(text: str) -> float | None:
    """Return a cell's number, with decimal point or comma, or None if it is not a number."""
    if not re.fullmatch(r"\s*\d+([.,]\d+)?\s*", text, re.ASCII):
        return None
    return float(text.replace(",", "."))


def amount(text: str) -> float | None:
    """Return a cell's number, or None if it has none above 0."""
    return read_number(text) or None


def _note_scale(rows: Mapping[int, Graded], most: float | None) -> tuple[str, ...]:
    """Return a note on how the scores were scaled, if they were."""
    worth = sorted({graded.max_score or 0.0 for graded in rows.values()})
    if not worth or (most is not None and worth == [most]):
        return ()
    here = " or ".join(f"{points:g}" for points in worth)
    if most is None:
        return (f"The file does not say what the assignment is worth: scores are out of {here}.",)
    return (f"Scores are out of {here} here and out of {most:g} there: they were scaled.",)


def _note_above(count: int, sheet: Sheet) -> tuple[str, ...]:
    """Return a note on scores that the platform would silently ignore."""
    if not count:
        return ()
    scores = "1 score above the maximum is" if count == 1 else f"{count} scores above it are"
    them = "it" if count == 1 else "them"
    return (f"{scores} written as {sheet.most:g}, because {sheet.platform} skips {them}.",)


def _note_excused(count: int, sheet: Sheet) -> tuple[str, ...]:
    """Return a note on excused students who have a grade on a platform without excuses."""
    if not count:
        return ()
    who = "1 excused student keeps" if count == 1 else f"{count} excused students keep"
    return (f"{sheet.platform} has no excuses: {who} the grade there.",)


def _note_commented(students: Sequence[str]) -> tuple[str, ...]:
    """Return a note on students whose feedback comment there is somebody else's."""
    if not students:
        return ()
    some = [one_line(student, 60) for student in students[:MOST_NAMES]]
    more = len(students) - len(some)
    names = f"{', '.join(some)} and {more} more" if more else ", ".join(some)
    who = "1 student keeps" if len(students) == 1 else f"{len(students)} students keep"
    return (
        f"{who} the feedback comment there, which nopeek did not write: {names}; --overwrite "
        "replaces it.",
    )
