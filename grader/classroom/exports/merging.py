"""Whose row a score belongs in, and what is written there."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.classroom.exports.cells import Cell
from grader.classroom.exports.options import ExportError, Merged
from grader.report.records import Graded, Report

Row = list[Cell]
DECIMALS = 2  # as many as these platforms show


@dataclass(frozen=True)
class Placed:
    """The reports by their row's number, and everyone who has no row of their own."""

    rows: Mapping[int, Report]
    unmatched: tuple[str, ...]
    ambiguous: tuple[str, ...]
    not_graded: tuple[str, ...]

    def merged(self, text: str, notes: tuple[str, ...]) -> Merged:
        """What came of it, with the text that was made."""
        lost = (self.unmatched, self.ambiguous, self.not_graded)
        return Merged(text, len(self.rows), *lost, notes)


def column(header: Row, name: str) -> int:
    """Where the one column of that header stands; ExportError if it is not one."""
    places = [place for place, cell in enumerate(header) if cell.text == name]
    if not places:
        raise ExportError(f"it has no column {name!r}")
    if len(places) > 1:
        raise ExportError(f"it has {len(places)} columns {name!r}: rename all but one")
    return places[0]


def all_as_wide(table: list[Row]) -> None:
    """ExportError if a row has another number of cells than the header."""
    for number, row in enumerate(table, start=1):
        if row and len(row) != len(table[0]):
            raise ExportError(
                f"its row {number} has {len(row)} cells and its header {len(table[0])}: "
                "download the file again"
            )


def keys_of(table: Mapping[int, Iterable[str]]) -> dict[str, set[int]]:
    """Which rows go by a name, for the names of every row; names are compared exactly."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for number, names in table.items():
        for name in names:
            if name:
                found[name].add(number)
    return dict(found)


def place(class_: Iterable[Graded], keys: Mapping[str, set[int]]) -> Placed:
    """Every report to the one row that goes by the student's id, and by nobody else's."""
    reports: dict[str, Report] = {}
    homes: dict[str, int] = {}
    lost: dict[str, list[str]] = {"unmatched": [], "ambiguous": [], "not_graded": []}
    for graded in class_:
        rows = keys.get(graded.student, set())
        if graded.report is None:
            lost["not_graded"].append(graded.student)
        elif len(rows) == 1:
            reports[graded.student] = graded.report
            (homes[graded.student],) = rows
        else:
            lost["ambiguous" if rows else "unmatched"].append(graded.student)
    taken = Counter(homes.values())
    lost["ambiguous"] += [student for student, row in homes.items() if taken[row] > 1]
    alone = {row: reports[student] for student, row in homes.items() if taken[row] == 1}
    return Placed(alone, **{name: tuple(students) for name, students in lost.items()})


def amount(text: str) -> float | None:
    """The number in a cell, with a decimal point or comma; None if there is none above 0."""
    if not re.fullmatch(r"\s*\d+([.,]\d+)?\s*", text, re.ASCII):
        return None
    return float(text.replace(",", ".")) or None


def decimal_mark(cells: Iterable[str]) -> str:
    """What the file itself writes between whole and part."""
    return "," if any(re.fullmatch(r"\s*\d+,\d+\s*", text) for text in cells) else "."


def score_text(report: Report, most: float | None, mark: str) -> str:
    """The score, scaled to what the platform's assignment is worth, if that is known."""
    factor = most / report.max_score if most and report.max_score else 1.0
    text = f"{report.score * factor:.{DECIMALS}f}".rstrip("0").rstrip(".")
    return text.replace(".", mark)


def scale_note(rows: Mapping[int, Report], most: float | None) -> tuple[str, ...]:
    """What was done to the scores, if anything was."""
    worth = sorted({report.max_score for report in rows.values()})
    if not worth or (most is not None and worth == [most]):
        return ()
    here = " or ".join(f"{points:g}" for points in worth)
    if most is None:
        return (f"The file does not say what the assignment is worth: scores are out of {here}.",)
    return (f"Scores are out of {here} here and out of {most:g} there: they were scaled.",)
