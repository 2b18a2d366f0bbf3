"""Read and write CSV files.

An instructor's file is read as cells with their places, so that single cells can be changed.
Everything else keeps every byte: quotes, separators, line ends, byte order mark. What is written is
text to a spreadsheet, never a formula.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.classroom.course import CourseError
from grader.report.sanitize import visible

SEPARATORS = ",;\t"
MARK = "\ufeff"  # which some programs begin a file with
_QUOTED_CELL = r'"[^"]*(?:""[^"]*)*"'
MAX_CELL = 1000
# Full-width signs begin a formula too where the spreadsheet is Japanese or Chinese.
_FORMULA = "[=+@\\-\uff1d\uff0b\uff0d\uff20]"
_FIRST = re.compile(rf"\t| *{_FORMULA}")
# A spreadsheet may be set to any of these instead of the comma: what follows is a cell to it, with
# its own quotes.
_LATER = re.compile(rf"([;|\t])(?=[ \"]*{_FORMULA})")
_QUOTED = re.compile(rf"([;|\t])'(?=[ \"]*{_FORMULA})")


@dataclass(frozen=True)
class TableCell:
    """A cell's content, and where its text, with quotes, starts and ends."""

    text: str
    start: int
    end: int
    quoted: bool


def _cells(text: str, separator: str) -> list[list[TableCell]]:
    """Return all rows; an empty line is a row without cells."""
    ends = rf"{separator}\r\n"
    cell = re.compile(rf'({_QUOTED_CELL}|[^"{ends}][^{ends}]*|)(\r\n|[{ends}]|\Z)')
    place, end = len(MARK) if text.startswith(MARK) else 0, "\n"
    found: list[list[TableCell]] = []
    while place < len(text) or end == separator:
        match = cell.match(text, place)
        if match is None:
            raise CourseError("a quote in it is not closed, or in a cell: download the file again")
        if end != separator:
            found.append([])
        written, quoted = match[1], match[1].startswith('"')
        content = written[1:-1].replace('""', '"') if quoted else written
        found[-1].append(TableCell(content, match.start(1), match.end(1), quoted))
        place, end = match.end(), match[2]
    blank = [len(row) == 1 and row[0].start == row[0].end for row in found]
    return [[] if is_blank else row for row, is_blank in zip(found, blank)]


def find_separator(text: str) -> str:
    """Return the separator that is most often outside of quotes in one of the first lines.

    Sakai writes a title and an empty row above its header.
    """
    lines = re.sub(r'"[^"]*"', "", text).splitlines()[:3]
    return max(SEPARATORS, key=lambda one: max((line.count(one) for line in lines), default=0))


def read(text: str) -> list[list[TableCell]]:
    """Return the rows, for any separator. Raise CourseError if it is not a CSV file.

    The csv module must read the same rows, because platforms will read the file as it does.
    """
    separator = find_separator(text)
    found = _cells(text, separator)
    plain = text.removeprefix(MARK)
    # A student's typed text may be a cell of Moodle's worksheet, and may be of any length.
    csv.field_size_limit(max(csv.field_size_limit(), len(plain)))
    try:
        same = list(csv.reader(io.StringIO(plain, newline=""), delimiter=separator, strict=True))
    except csv.Error:
        same = []
    ours = [[cell.text for cell in row] for row in found]
    if [row for row in same if row] != [row for row in ours if row]:
        raise CourseError("it is not a CSV file that can be read: download it again")
    return found


def replace_cells(text: str, changes: Mapping[TableCell, str]) -> str:
    """Return the text with other content in some cells; quoted cells stay quoted."""
    pieces, place = [], 0
    for cell, content in sorted(changes.items(), key=lambda change: change[0].start):
        if cell.quoted or re.search(r'[",;\t\r\n]', content):
            content = '"' + content.replace('"', '""') + '"'
        pieces += [text[place : cell.start], content]
        place = cell.end
    return "".join([*pieces, text[place:]])


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
