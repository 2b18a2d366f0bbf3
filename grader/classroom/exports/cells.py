"""Read an instructor's CSV file as cells with their places, so that single cells can be changed.

Everything else keeps every byte: quotes, separators, line ends, byte order mark.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass

from grader.classroom.exports.options import ExportError

MARK = "\ufeff"
SEPARATORS = ",;\t"
_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class TableCell:
    """A cell's content, and where its text, with quotes, starts and ends."""

    text: str
    start: int
    end: int
    quoted: bool


def _read_quoted(text: str, start: int) -> TableCell:
    """Return the cell whose opening quote is at start."""
    end = start + 1
    while True:
        end = text.find('"', end)
        if end < 0:
            raise ExportError("a quote in it is never closed: download the file again")
        if text[end : end + 2] != '""':
            return TableCell(text[start + 1 : end].replace('""', '"'), start, end + 1, True)
        end += 2


def _cell(text: str, start: int, plain: re.Pattern[str]) -> TableCell:
    if text[start : start + 1] == '"':
        return _read_quoted(text, start)
    match = plain.match(text, start)
    assert match is not None  # it matches the empty text
    return TableCell(match[0], start, match.end(), False)


def rows(text: str, separator: str) -> list[list[TableCell]]:
    """Return all rows; an empty line is a row without cells."""
    plain = re.compile(rf"[^{re.escape(separator)}\r\n]*")
    place = len(MARK) if text.startswith(MARK) else 0
    found: list[list[TableCell]] = [[]]
    while place < len(text):
        cell = _cell(text, place, plain)
        found[-1].append(cell)
        place = cell.end
        if end := _END.match(text, place):
            place = end.end()
            found.append([])
        elif text[place : place + 1] == separator:
            place += 1
            if place == len(text):
                found[-1].append(TableCell("", place, place, False))
        elif place < len(text):
            raise ExportError("a quote in it stands in the middle of a cell: download it again")
    return [[] if _is_blank(row) else row for row in found]


def _is_blank(row: list[TableCell]) -> bool:
    return len(row) == 1 and not row[0].text and not row[0].quoted


def _find_separator(text: str) -> str:
    """Return the separator that is most often outside of quotes in one of the first lines.

    Sakai writes a title and an empty row above its header.
    """
    lines = re.sub(r'"[^"]*"', "", text).splitlines()[:3]
    return max(SEPARATORS, key=lambda one: max((line.count(one) for line in lines), default=0))


def read(text: str) -> list[list[TableCell]]:
    """Return the rows, for any separator. Raise ExportError if it is not a CSV file.

    The csv module must read the same rows, because platforms will read the file as it does.
    """
    separator = _find_separator(text)
    found = rows(text, separator)
    plain = text.removeprefix(MARK)
    # A student's typed text may be a cell of Moodle's worksheet, and may be of any length.
    csv.field_size_limit(max(csv.field_size_limit(), len(plain)))
    try:
        same = list(csv.reader(io.StringIO(plain, newline=""), delimiter=separator, strict=True))
    except csv.Error:
        same = []
    ours = [[cell.text for cell in row] for row in found]
    if [row for row in same if row] != [row for row in ours if row]:
        raise ExportError("it is not a CSV file that can be read: download it again")
    return found


def replace_cells(text: str, changes: Mapping[TableCell, str]) -> str:
    """Return the text with other content in some cells; quoted cells stay quoted."""
    pieces, place = [], 0
    for cell in sorted(changes, key=lambda cell: cell.start):
        pieces += [text[place : cell.start], _write_content(changes[cell], cell.quoted)]
        place = cell.end
    return "".join([*pieces, text[place:]])


def _write_content(content: str, quoted: bool) -> str:
    if quoted or re.search(r'[",;\t\r\n]', content):
        return '"' + content.replace('"', '""') + '"'
    return content
