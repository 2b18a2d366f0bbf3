"""Write cells and rows of CSV files that a spreadsheet treats as text, never as a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

from grader.report.sanitize import visible

MAX_CELL = 1000
# Full-width signs begin a formula too where the spreadsheet is Japanese or Chinese.
_FORMULA = "[=+@\\-\uff1d\uff0b\uff0d\uff20]"
_FIRST = re.compile(rf"\t| *{_FORMULA}")
# A spreadsheet may be set to any of these instead of the comma: what follows is a cell to it, with
# its own quotes.
_LATER = re.compile(rf"([;|\t])(?=[ \"]*{_FORMULA})")
_QUOTED = re.compile(rf"([;|\t])'(?=[ \"]*{_FORMULA})")


def protect_cell(text: str, limit: int = MAX_CELL) -> str:
    """Return a text on one line that no spreadsheet calculates; `'` precedes a formula.

    >>> protect_cell("=1+1"), protect_cell("Ann; =1+1")
    ("'=1+1", "Ann;' =1+1")
    """
    shown = _LATER.sub(r"\1'", visible(text, limit, kept="\t"))
    return f"'{shown}" if _FIRST.match(shown) else shown


def text_of(written: str) -> str:
    """Return the text from the cell that `protect_cell` returned."""
    return _QUOTED.sub(r"\1", written.removeprefix("'"))


def number(value: float | None) -> str:
    """Return a score as text, or "" for a missing score, which is not 0."""
    return "" if value is None else f"{round(value, 6) + 0.0:.12g}"  # + 0.0: never -0


def row(cells: Iterable[str]) -> str:
    """Return one line of a CSV file with its line end."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
