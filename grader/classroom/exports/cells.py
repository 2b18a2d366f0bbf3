"""Read and write CSV files.

Single cells of an instructor's file can be changed. Everything else keeps every byte: quotes,
separators, line ends, byte order mark. What is written is text to a spreadsheet, never a formula.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping

from grader.report.problem import CourseError
from grader.report.sanitize import visible

SEPARATORS = ",;\t"
MARK = "\ufeff"  # which some programs begin a file with
NOT_CSV = (
    "it is not a CSV file that can be read: a quote in it is not closed, or in a cell; download "
    "the file again"
)
_QUOTED_CELL = r'"[^"]*(?:""[^"]*)*"'
MAX_CELL = 1000
# Full-width signs begin a formula too where the spreadsheet is Japanese or Chinese.
_FORMULA = "[=+@\\-\uff1d\uff0b\uff0d\uff20]"
_FIRST = re.compile(rf"\t| *{_FORMULA}")
# A spreadsheet may be set to any of these instead of the comma: what follows is a cell to it, with
# its own quotes.
_LATER = re.compile(rf"([;|\t])(?=[ \"]*{_FORMULA})")
_QUOTED = re.compile(rf"([;|\t])'(?=[ \"]*{_FORMULA})")


def find_separator(text: str) -> str:
    """Return the separator that is most often outside of quotes in one of the first lines.

    Sakai writes a title and an empty row above its header.
    """
    lines = re.sub(r'"[^"]*"', "", text).splitlines()[:3]
    return max(SEPARATORS, key=lambda one: max((line.count(one) for line in lines), default=0))


def read(text: str) -> list[list[str]]:
    """Return the rows, for any separator; an empty line is a row without cells.

    Raise CourseError if it is not a CSV file.
    """
    plain = text.removeprefix(MARK)
    # A student's typed text may be a cell of Moodle's worksheet, and may be of any length.
    csv.field_size_limit(max(csv.field_size_limit(), len(plain)))
    lines, separator = io.StringIO(plain, newline=""), find_separator(text)
    try:
        return list(csv.reader(lines, delimiter=separator, strict=True))
    except csv.Error:
        raise CourseError(NOT_CSV) from None


def replace_cells(text: str, changes: Mapping[tuple[int, int], str]) -> str:
    """Return the text with other content in some cells, by row and column.

    Quoted cells stay quoted. Raise CourseError if the csv module reads other rows, because
    platforms will read the file as it does.
    """
    wanted, separator = read(text), find_separator(text)
    for (row, column), content in changes.items():
        wanted[row][column] = content
    cell = re.compile(rf"({_QUOTED_CELL}|[^{separator}\r\n]*)({separator}|\r\n|[\r\n]|\Z)")
    row, column, pieces = 0, 0, []
    for match in cell.finditer(text, text.startswith(MARK)):
        written, end = match.groups()
        if (row, column) in changes:
            content = changes[row, column]
            if written.startswith('"') or re.search(r'[",;\t\r\n]', content):
                content = '"' + content.replace('"', '""') + '"'
            written = content
        pieces += [written, end]
        row, column = (row, column + 1) if end == separator else (row + 1, 0)
    made = text[: text.startswith(MARK)] + "".join(pieces)
    if read(made) != wanted:
        raise CourseError(NOT_CSV)
    return made


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
