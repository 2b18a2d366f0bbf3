"""Fill grades into a table that an instructor has downloaded, and keep every other byte of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal

from grader.classroom.exports.cells import TableCell, replace_cells
from grader.classroom.exports.explanation import describe, is_own_description
from grader.classroom.exports.options import ExportError, Merged, Options
from grader.classroom.people import (
    Claim,
    Directory,
    Owners,
    Person,
    Unmatched,
    find_best,
    resolve,
)
from grader.report.influences import count_words
from grader.report.records import Graded
from grader.report.sanitize import one_line

Row = list[TableCell]
DECIMALS = 2  # as many as these platforms show
MOST_NAMES = 5  # in a note
_NOTHING = ("", "-", "n/a")


@dataclass(frozen=True)
class GradeTable:
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


def _find_rows(
    class_: Sequence[Graded], sheet: GradeTable, answer: Owners
) -> Iterator[tuple[Graded, int | str]]:
    """Yield each student with the row that only they have, or with the reason why there is none.

    Rows are found by the rule of `grader.classroom.people`. Everybody on the class list claims one,
    because a name in the table may be chosen.
    """
    directory, numbers = Directory(list(sheet.people.values())), list(sheet.people)
    owners = [(graded, one) for graded in class_ for one in answer.owners_of(graded)]
    people = {one.id: one for one in answer.directory.people} if answer.is_listed else {}
    people |= {one.id: one for _, one in owners}
    found = {
        id: directory.find(answer.directory.without_shared_names(one)) for id, one in people.items()
    }
    claims: defaultdict[int, list[tuple[Claim, str]]] = defaultdict(list)
    for id, one in found.items():
        if not isinstance(one, Unmatched):
            claims[one[1]].append((one[0], id))
    for graded, owner in owners:
        row = found[owner.id]
        if isinstance(row, Unmatched):
            where = f"in the file from {sheet.platform}"
            yield graded, row.reason.replace("on the class list", where)
        elif find_best(claims[row[1]]) != [owner.id]:
            yield graded, "the row may be another student's"
        else:
            yield graded, numbers[row[1]]


def _has_score(graded: Graded) -> bool:
    return graded.score is not None or graded.excused


def fill(text: str, sheet: GradeTable, class_: Iterable[Graded], options: Options) -> Merged:
    """Return the table with grades and comments, and every other byte unchanged.

    Grades, excuses and comments that nopeek did not write stay.
    """
    class_ = list(class_)
    found = [*_find_rows(class_, sheet, options.answer or resolve(class_))]
    scored = [(graded, row) for graded, row in found if _has_score(graded)]
    rows = {row: graded for graded, row in scored if isinstance(row, int)}
    done = Merged(
        unmatched={one.student: why for one, why in scored if isinstance(why, str)},
        not_graded=[one.student for one in class_ if not _has_score(one)],
        earlier=[
            one.student
            for one, row in found
            if isinstance(row, int) and not _has_score(one)
            if _has_grade(sheet.table[row][sheet.grade].text)
        ],
    )
    mark, shown = _forms(sheet)
    decimals = shown if sheet.skips else DECIMALS
    changes: dict[TableCell, str] = {}
    commented, above, stay = [], 0, 0
    for number, graded in rows.items():
        cell, key = sheet.table[number][sheet.grade], sheet.keys[number]
        mine = options.overwrite or is_ours(cell.text, options.exported.get(key, ()), decimals)
        new = _new_text(graded, sheet, mark)
        if not mine and not is_ours(cell.text, [cell.text if new is None else new]):
            done.kept.append(graded.student)
            continue
        above += not graded.excused and _is_above(graded, sheet)
        if new is None:  # the grade there stays, and may be another person's
            stay += _has_grade(cell.text)
        else:
            changes[cell] = new
            if mine:
                done.cells[key] = new  # the same grade may be another person's
        if sheet.feedback is not None:
            said = sheet.table[number][sheet.feedback]
            if options.overwrite or is_own_description(said.text):
                changes[said] = describe(graded)
            else:
                commented.append(one_line(graded.student, 60))
    done.notes.extend([*_note_scale(rows, sheet.most), *sheet.notes])
    done.notes.extend(_note_exceptions(sheet, above, stay, commented))
    return replace(done, text=replace_cells(text, changes), written=len(rows) - len(done.kept))


def _forms(sheet: GradeTable) -> tuple[str, int]:
    """Return the decimal mark of the table, and how many decimals its numbers have at most."""
    rows = [row for row in sheet.table if len(row) > sheet.grade]
    texts = [cell.text for row in rows for cell in row[sheet.grade : sheet.grade + 2]]
    found = [re.fullmatch(r"\s*\d+([.,])(\d+)\s*", text, re.ASCII) for text in texts]
    known = [match for match in found if match]
    mark = "," if any(match[1] == "," for match in known) else "."
    return mark, max((len(match[2]) for match in known), default=0)


def _new_text(graded: Graded, sheet: GradeTable, mark: str) -> str | None:
    """Return the text of the grade; None if the platform has no excuses."""
    if graded.excused:
        return sheet.excused or None
    if _is_above(graded, sheet):
        return f"{sheet.most:g}".replace(".", mark)
    # Six decimals, so that 15.625 is a half and 0.1 + 0.2 has no tail.
    exact = Decimal(str(round(scale_score(graded, sheet.most), 6)))
    text = str(exact.quantize(Decimal(1).scaleb(-DECIMALS), ROUND_HALF_UP))
    return text.rstrip("0").rstrip(".").replace(".", mark)


def _is_above(graded: Graded, sheet: GradeTable) -> bool:
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


def _note_scale(rows: Mapping[int, Graded], most: float | None) -> Iterator[str]:
    """Yield a note on how the scores were scaled, if they were."""
    worth = sorted({graded.max_score or 0.0 for graded in rows.values()})
    here = " or ".join(f"{points:g}" for points in worth)
    if worth and most is None:
        yield f"The file does not say what the assignment is worth: scores are out of {here}."
    elif worth and worth != [most]:
        yield f"Scores are out of {here} here and out of {most:g} there: they were scaled."


def _note_exceptions(
    sheet: GradeTable, above: int, stay: int, commented: Sequence[str]
) -> Iterator[str]:
    """Yield notes on what the platform would ignore, or what stays there."""
    if above:
        scores = count_words(above, "score")
        yield f"{sheet.platform} skips scores above {sheet.most:g}: {scores} written as that."
    if stay:
        excused = count_words(stay, "excused student")
        yield f"{sheet.platform} has no excuses: the grade there stays for {excused}."
    if commented:
        names = ", ".join(commented[:MOST_NAMES])
        if len(commented) > MOST_NAMES:
            names = f"{names} and {len(commented) - MOST_NAMES} more"
        yield f"Feedback comments of others stay: {names}; --overwrite replaces them."
