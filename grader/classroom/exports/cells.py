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
_QUOTED = r'"[^"]*(?:""[^"]*)*"'


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
    cell = re.compile(rf'({_QUOTED}|[^"{ends}][^{ends}]*|)(\r\n|[{ends}]|\Z)')
    place, end = len(MARK) if text.startswith(MARK) else 0, "\n"
    found: list[list[TableCell]] = []
    while place < len(text) or end == separator:
        match = cell.match(text, place)
        if match is None:
            raise ExportError("a quote in it is not closed, or in a cell: download the file again")
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
    """Return the rows, for any separator. Raise ExportError if it is not a CSV file.

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
        raise ExportError("it is not a CSV file that can be read: download it again")
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
