"""Fill grades into a table that an instructor has downloaded, and keep every other byte of it."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal

from grader.classroom.exports.cells import read, replace_cells
from grader.classroom.exports.explanation import describe
from grader.classroom.exports.gradebooks import LAYOUTS, Layout, find_layout, read_person
from grader.classroom.exports.options import Options
from grader.classroom.people import Directory, Owners, Person, resolve, settle
from grader.report.influences import count_words
from grader.report.problem import CourseError
from grader.report.records import Graded
from grader.report.sanitize import one_line

Row = list[str]
POINTS = "Points Possible"  # Canvas' row above all students
FEEDBACK = "Feedback comments"  # Moodle's column
NO_FEEDBACK = f"No column `{FEEDBACK}` was found: --feedback-column names it."
DECIMALS = 2  # as many as these platforms show
_NOTHING = ("", "-", "n/a")


@dataclass(frozen=True)
class GradeTable:
    """A platform's table of grades.

    people: the students by the number of their row. grade: the column. most: what the assignment is
    worth there, if the table says so. feedback: the column of comments.
    """

    layout: Layout
    table: Sequence[Row]
    people: Mapping[int, Person]
    grade: int
    most: float | None = None
    feedback: int | None = None


@dataclass(frozen=True)
class Merged:
    """The instructor's file with the scores in it, and everyone whose score is not.

    placed: how many have a row. unmatched: students without a row of their own, each with the
    reason. kept: the grades and comments there that were not replaced, each with its student.
    """

    text: str = ""
    written: int = 0
    placed: int = 0
    unmatched: Mapping[str, str] = field(default_factory=dict)
    not_graded: Sequence[str] = ()
    notes: Sequence[str] = ()
    kept: Sequence[str] = ()


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


def _find_mark(sheet: GradeTable) -> str:
    """Return the decimal mark of the table."""
    rows = (row[sheet.grade : sheet.grade + 2] for row in sheet.table)
    is_comma = any(re.fullmatch(r"\s*\d+,\d+\s*", cell) for row in rows for cell in row)
    return "," if is_comma else "."


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
    if now.casefold() in _NOTHING or now == new or (options.overwrite and new):
        return True
    number = read_number(now)
    return number is not None and number == read_number(new)


def column(header: Row, name: str) -> int:
    """Return the place of the only column with that header. Raise CourseError otherwise."""
    places = [place for place, cell in enumerate(header) if cell == name]
    if not places:
        raise CourseError(f"it has no column {name!r}")
    if len(places) > 1:
        raise CourseError(f"it has {len(places)} columns {name!r}: rename all but one")
    return places[0]


def check_width(table: Sequence[Row]) -> None:
    """Raise CourseError if a row and the first one have different numbers of cells."""
    for number, row in enumerate(table, start=1):
        if row and len(row) != len(table[0]):
            raise CourseError(
                f"its row {number} has {len(row)} cells and its header {len(table[0])}: "
                "download the file again"
            )


def read_number(text: str) -> float | None:
    """Return a cell's number, with decimal point or comma, or None if it is not a number."""
    if not re.fullmatch(r"\s*\d+([.,]\d+)?\s*", text, re.ASCII):
        return None
    return float(text.replace(",", "."))


def _note_scale(scored: Iterable[Graded], sheet: GradeTable) -> Iterator[str]:
    """Yield a note on how the scores were scaled, if they were."""
    worth = sorted({graded.max_score or 0.0 for graded in scored})
    here = " or ".join(f"{points:g}" for points in worth)
    if worth and sheet.most is None:
        yield f"The file does not say what the assignment is worth: scores are out of {here}."
    elif worth and worth != [sheet.most]:
        yield f"Scores are out of {here} here and out of {sheet.most:g} there: they were scaled."


def _note_rest(scored: Iterable[Graded], sheet: GradeTable) -> Iterator[str]:
    """Yield notes on what the platform has no place for: feedback, high scores, and excuses."""
    scored, most, platform = list(scored), sheet.most, sheet.layout.platform
    if platform == "Moodle" and sheet.feedback is None:
        yield NO_FEEDBACK
    above = sum(
        sheet.layout.skips and most is not None and scale_score(one, most) > most for one in scored
    )
    if above:
        written = count_words(above, "score")
        yield f"{platform} skips scores above {most:g}: {written} written as that."
    excused = sum(one.excused and not sheet.layout.excused for one in scored)
    if excused:
        yield f"{platform} has no excuses: no grade is written for {excused} excused."


def _grade_column(layout: Layout, header: Row, name: str) -> int:
    titles = [cell for cell in header if re.fullmatch(layout.grade, cell)]
    name = name or layout.only
    if name not in titles:
        known = ", ".join(map(repr, titles)) or "none"
        wrong = f"there is no column {one_line(name, 60)!r}; " if name else ""
        raise CourseError(
            f"{wrong}name the assignment's column with --column, as its header has it: {known}"
        )
    return column(header, name)


def _points_row(table: Sequence[Row]) -> int:
    """Return the number of Canvas' row with the points, which is above all students."""
    for number, row in enumerate(table[1:4], start=1):
        if row and row[0].strip() == POINTS:
            return number
    raise CourseError(f"it has no row `{POINTS}`: export the whole gradebook from Canvas")


def _read_sheet(platform: str, text: str, options: Options) -> GradeTable:
    table = read(text)
    found = find_layout(table)
    if found is None or found[0].platform != platform:
        example = next(one.example for one in LAYOUTS if one.platform == platform)
        raise CourseError(f"it is not a table that {platform} exported, such as {example}")
    layout, top = found
    check_width(table[top:])
    header, at = table[top], _grade_column(layout, table[top], options.column)
    match = re.fullmatch(layout.grade, header[at])
    most = match[1] or "" if match else ""
    if layout.has_points:
        top = _points_row(table)
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
    feedback = column(header, said) if said else None
    return GradeTable(layout, table, people, at, worth, feedback)


def into_gradebook(platform: str, text: str, class_: Iterable[Graded], options: Options) -> Merged:
    """Return the platform's table with grades and comments, and every other byte unchanged.

    Empty cells are filled in. Other grades and comments stay, unless they are to be overwritten.
    """
    sheet = _read_sheet(platform, text, options)
    class_ = list(class_)
    found = [*_find_rows(class_, sheet, options.answer or resolve(class_))]
    rows = {row: graded for graded, row, reason in found if not reason}
    scored = {row: graded for row, graded in rows.items() if _has_score(graded)}
    changes: dict[tuple[int, int], str] = {}
    kept: list[str] = []
    written, mark = 0, _find_mark(sheet)
    for row, graded in rows.items():
        there, new = sheet.table[row][sheet.grade], _write_score(graded, sheet, mark)
        if not _may_replace(there, new, options):
            kept.append(f"{one_line(graded.student, 60)}: {there} there, {new or 'none'} here")
            continue
        if new:
            changes[row, sheet.grade] = new
            written += 1
        if sheet.feedback is not None and _has_score(graded):
            said = html.escape(" ".join(describe(graded)), quote=False)
            if sheet.table[row][sheet.feedback].strip() in ("", said) or options.overwrite:
                changes[row, sheet.feedback] = said
            else:
                kept.append(f"{one_line(graded.student, 60)}: the feedback comment there")
    return Merged(
        replace_cells(text, changes),
        written,
        len(scored),
        {one.student: reason for one, _, reason in found if reason and _has_score(one)},
        [one.student for one in class_ if not _has_score(one)],
        [*_note_scale(scored.values(), sheet), *_note_rest(scored.values(), sheet)],
        kept,
    )
