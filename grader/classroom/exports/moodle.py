"""Merge scores and feedback into an offline grading worksheet from Moodle.

The worksheet's header is in the language of the person who downloaded it. So columns are found by
their contents if possible.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Sequence

from grader.classroom.exports.cells import read
from grader.classroom.exports.explanation import points_of_steps
from grader.classroom.exports.merging import (
    Row,
    Sheet,
    amount,
    check_width,
    column,
    fill,
    read_number,
)
from grader.classroom.exports.options import ExportError, Merged, Options
from grader.classroom.people import Person, person
from grader.report.records import Graded, Status, Who
from grader.report.sanitize import visible

GRADE, FEEDBACK = "Grade", "Feedback comments"
PARTICIPANT = re.compile(r"\D*?(\d+)", re.ASCII)
NO_FEEDBACK = "No column `Feedback comments` was found: --feedback-column names it."
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


def _person(row: Row, about: int) -> Person:
    """Return the person in a row. about: how many of the first cells say who it is.

    Behind the name are the university's id and the address. Work may be called `Anna Abel_4711`.
    """
    number = _number(row)
    name = row[1].text if about > 1 else ""
    others = [cell.text for cell in row[2:about] if cell.text]
    email = next((text for text in others if "@" in text), "")
    ids = [text for text in others if "@" not in text]
    called = [f"{one}_{number}" for one in (name, row[0].text.removesuffix(number).strip()) if one]
    return person("", Who("Moodle", number, name, email), [row[0].text], [*ids, *called])


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
    check_width(table)
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
    """Return the worksheet with grade and comment filled in, and every other byte unchanged."""
    table = _check_columns(text)
    grade = _grade_column(table, options.column)
    said = _feedback_column(table, options.feedback_column)
    about = _count_names(table, grade)
    people = {n: _person(row, about) for n, row in enumerate(table) if n and row}
    sheet = Sheet(
        *("Moodle", table, people, {n: one.who.number for n, one in people.items()}, grade),
        most=_maximum(table, grade),
        skips=True,
        feedback=said,
        notes=(NO_FEEDBACK,) if said is None else (),
    )
    return fill(text, sheet, class_, options, feedback, is_own_feedback)


def _number(row: Row) -> str:
    match = PARTICIPANT.fullmatch(row[0].text)
    assert match is not None  # the table was checked
    return match[1]
