"""Cells and rows of CSV files that a spreadsheet opens and takes for text, never for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from grader.report.sanitize import visible

FORMULA = ("=", "+", "-", "@", "\t")
MAX_CELL = 1000


def cell(text: str, limit: int = MAX_CELL) -> str:
    """Return a text on one line that no spreadsheet calculates; `'` precedes a formula."""
    shown = visible(text, limit, kept="\t")
    start = shown.lstrip(" ")[:1] or " "
    return f"'{shown}" if shown.startswith("\t") or start in FORMULA else shown


def number(value: float | None) -> str:
    """Return a score as text, empty for a missing score, which is not 0."""
    return "" if value is None else f"{round(value, 6):.12g}"


def row(cells: Iterable[str]) -> str:
    """Return one line of a CSV file, its end included."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
