"""Merge scores and feedback into an offline grading worksheet from Moodle.

The worksheet's header is in the language of the person who downloaded it. So columns are found by
their contents if possible.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Sequence

from grader.classroom.exports.cells import Cell, read, replace_cells
from grader.classroom.exports.explanation import points_of_steps
from grader.classroom.exports.merging import (
    Row,
    Rows,
    all_as_wide,
    amount,
    column,
    count_decimals,
    decimal_mark,
    earlier,
    has_grade,
    is_ours,
    keys_of,
    place,
    read_number,
    scale_note,
    scale_score,
    score_text,
)
from grader.classroom.exports.options import ExportError, Merged, Options
from grader.classroom.exports.people import members
from grader.report.records import Graded, Status
from grader.report.sanitize import one_line, visible

GRADE, FEEDBACK = "Grade", "Feedback comments"
PARTICIPANT = re.compile(r"\D*?(\d+)", re.ASCII)
NO_FEEDBACK = "No column `Feedback comments` was found: --feedback-column names it."
KINDS = ("file", "onlinetext")
MOST_NAMES = 5  # in a note
STATUS = ("status", "statut", "estado", "stato")
NAME = (
    *("full name", "name", "vollständiger name", "nom complet", "nombre completo"),
    *("nome completo", "cognome/nome", "volledige naam"),
)

# Moodle's editor puts tags around a text.
_START = r"(?:\s|&nbsp;|</?(?:p|br|div|span)\b[^>]*>)*"
_EXCUSED = rf"Excused\.(?:{_START}\Z|.*xcused \()"  # not the same word of somebody else
_OURS = re.compile(rf"{_START}(?:\Z|Points: [\d.e+-]+ of [\d.e+-]+\.|{_EXCUSED})", re.DOTALL)


def _texts(table: list[Row], at: int) -> list[str]:
    return [row[at].text for row in table[1:] if row]


def is_maximum(texts: Sequence[str]) -> bool:
    """Return whether these are the cells of the maximum grade: one number for everybody."""
    return len(set(texts)) == 1 and amount(texts[0]) is not None


def _grade_column(table: list[Row], name: str) -> int:
    """Return the column of that name, or `Grade`, or the one before the maximum grade."""
    header = [cell.text for cell in table[0]]
    if name or GRADE in header:
        return column(table[0], name or GRADE)
    found = _find_grades([_texts(table, at) for at in range(len(header))])
    if len(found) != 1:
        raise ExportError("name the column of the grade with --column, as its header has it")
    return found[0]


def _maximum(table: list[Row], grade: int) -> float | None:
    """Return the maximum grade, if the worksheet has it: after the grade."""
    if grade + 1 == len(table[0]):
        return None
    texts = _texts(table, grade + 1)
    return amount(texts[0]) if is_maximum(texts) else None


def holds_names(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a worksheet's second column has names, which few students share.

    For blind marking the status takes their place. Often it stands right before the grade, where a
    name never is.
    """
    if (title := header[1].casefold()) in STATUS + NAME:
        return title in NAME
    columns = [[row[at] if at < len(row) else "" for row in rows] for at in range(len(header))]
    if _find_grades(columns) == [2]:  # else the third column is a number of another kind
        return False
    return len(rows) < 4 or 2 * len(set(columns[1])) > len(rows)


def _find_grades(columns: Sequence[Sequence[str]]) -> list[int]:
    """Return the columns that may be the grade: numbers or empty, and before a maximum grade."""
    return [
        at
        for at, (texts, behind) in enumerate(itertools.pairwise(columns[1:]), start=1)
        if is_maximum(behind)
        and all(not text.strip() or read_number(text) is not None for text in texts)
    ]


def _count_names(table: list[Row], grade: int) -> int:
    """Return how many of the first columns say who somebody is.

    After them are the status, the team and the marker. A team's name may be a student's id.
    """
    titles = [cell.text.casefold() for cell in table[0][:grade]]
    if status := [at for at, title in enumerate(titles) if title in STATUS]:
        return status[0]
    rows = [[cell.text for cell in row] for row in table[1:] if row]
    if grade < 2 or not holds_names([cell.text for cell in table[0]], rows):
        return 1
    filled = ([text for text in _texts(table, at) if text] for at in range(2, grade))
    shared = (at for at, texts in enumerate(filled, 2) if len(set(texts)) < len(texts))
    return next(shared, grade)  # several students have the same status, whatever its title is


def _names(row: Row, about: int) -> set[str]:
    """Return every name of a student: the first cells, Moodle's number, a folder.

    The folders are those of Moodle's own download: `Ada Lovelace_123_assignsubmission_file`.
    """
    cells = {cell.text for cell in row[:about] if cell.text}
    number = _number(row)
    folders = {f"{text}_{number}_assignsubmission_{kind}" for text in cells for kind in KINDS}
    return {*cells, number, *folders, *(f"{text}_{number}" for text in cells)}


def _rows(table: list[Row], grade: int) -> Rows:
    """Return which rows match a name or a number."""
    rows = {n: row for n, row in enumerate(table) if n and row}
    about = _count_names(table, grade)
    names = {n: _names(row, about) for n, row in rows.items()}
    numbers = {n: [_number(row)] for n, row in rows.items()}
    called = {
        # In a class without names most languages write `Teilnehmer/in4711` as the name.
        n: [row[0].text.removesuffix(_number(row)), *(cell.text for cell in row[1:about])]
        for n, row in rows.items()
    }
    return Rows("Moodle", keys_of(names), keys_of(numbers), called, blind=about == 1)


def feedback(graded: Graded) -> str:
    """Return a paragraph of HTML: the steps' points, changes, and what to work on first."""
    report = graded.report
    grade, points = graded.grade, points_of_steps(graded)
    verdicts = [step for step in report.steps if step.step in points] if report else []
    steps = "; ".join(
        f"{step.title} {points[step.step]:g} of {step.max_points:g}" for step in verdicts
    )
    text = f"Points: {graded.score or 0:g} of {graded.max_score or 0:g}."
    if graded.excused:
        text = "Excused."
    parts = [text, f"{steps}." if steps else "", *(grade.notes if grade else ())]
    todo = next((step for step in verdicts if step.status is not Status.PASSED), None)
    parts.append(f"First to work on: {todo.title}." if todo else "")
    return html.escape(visible(" ".join(filter(None, parts))))


def is_own_feedback(text: str) -> bool:
    """Return whether a feedback comment is empty, or one that `feedback` has written.

    >>> is_own_feedback("Points: 5 of 10. Masks 5 of 5."), is_own_feedback("Points: see me.")
    (True, False)
    """
    return _OURS.match(text) is not None


def _check_columns(text: str) -> list[Row]:
    table = read(text)
    all_as_wide(table)
    firsts = [row[0].text for row in table[1:] if row]
    if not firsts or any(PARTICIPANT.fullmatch(first) is None for first in firsts):
        raise ExportError(
            "it is not a grading worksheet of Moodle: its first column must hold identifiers such "
            "as `Participant 123`"
        )
    return table


def _feedback_column(table: list[Row], name: str) -> int | None:
    if name or FEEDBACK in [cell.text for cell in table[0]]:
        return column(table[0], name or FEEDBACK)
    return None


def moodle(text: str, class_: Iterable[Graded], options: Options) -> Merged:
    """Return the file with grade and feedback filled in, and every other byte unchanged.

    A student from Moodle's own download is the row with that number. Any other student is the row
    whose identifier, number, name, address or ID number is the student's id. A row also matches by
    its folder in the download, such as `Ada Lovelace_123_assignsubmission_file`. An existing grade
    or comment that nopeek did not write stays.
    """
    table = _check_columns(text)
    grade = _grade_column(table, options.column)
    said = _feedback_column(table, options.feedback_column)
    rows = _rows(table, grade).with_list(options.listed or options.roster)
    placed = place(members(class_, options.groups, options.roster), rows)
    most = _maximum(table, grade)
    there = [cell.text for row in table[1:] for cell in row[grade : grade + 2]]
    mark, decimals = decimal_mark(there), count_decimals(there)
    changes: dict[Cell, str] = {}
    kept: list[str] = []
    commented: list[str] = []
    cells: dict[str, str] = {}
    above = filled = stay = 0
    for number, graded in placed.rows.items():
        row = table[number]
        new = row[grade].text if graded.excused else score_text(graded, most, mark)
        if most is not None and not graded.excused and scale_score(graded, most) > most:
            new = f"{most:g}".replace(".", mark)
            above += 1
        exported = options.exported.get(_number(row), ())
        mine = options.overwrite or is_ours(row[grade].text, exported, decimals)
        if not mine and not is_ours(row[grade].text, [new]):
            kept.append(graded.student)
            continue
        filled += 1
        if graded.excused:  # the grade there stays, and may be another person's
            stay += has_grade(row[grade].text)
        else:
            changes[row[grade]] = new
            if mine:
                cells[_number(row)] = new  # the same grade may be another person's
        if said is not None and not (options.overwrite or is_own_feedback(row[said].text)):
            commented.append(graded.student)
        elif said is not None:
            changes[row[said]] = feedback(graded)
    lost = (placed.unmatched, placed.ambiguous, placed.not_graded)
    notes = rows.notes + scale_note(placed.rows, most) + ((NO_FEEDBACK,) if said is None else ())
    notes += _note_above(above, most) + _note_commented(commented) + _note_excused(stay)
    merged = replace_cells(text, changes)
    return Merged(merged, filled, *lost, notes, tuple(kept), earlier(placed, table, grade), cells)


def _note_above(count: int, most: float | None) -> tuple[str, ...]:
    """Return a note on scores that Moodle would silently ignore."""
    if not count or most is None:
        return ()
    scores = "1 score above the maximum is" if count == 1 else f"{count} scores above it are"
    return (
        f"{scores} written as {most:g}, because Moodle skips {'it' if count == 1 else 'them'}.",
    )


def _note_excused(count: int) -> tuple[str, ...]:
    """Return a note on excused students who have a grade in Moodle."""
    if not count:
        return ()
    who = "1 excused student keeps" if count == 1 else f"{count} excused students keep"
    return (f"Moodle has no excuses: {who} the grade there.",)


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


def _number(row: Row) -> str:
    match = PARTICIPANT.fullmatch(row[0].text)
    assert match is not None  # the table was checked
    return match[1]
