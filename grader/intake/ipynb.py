"""Read the cells of a notebook file, of nbformat 3 or 4, as far as possible."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.intake.folders import SubmissionError

MAX_NOTEBOOK = 32 * 2**20
MAX_VALUES = 2_000_000
MAX_CELLS = 5_000
TOO_LARGE = (
    f"it is too large: a notebook has at most {MAX_NOTEBOOK // 2**20} MiB, and those of a hand-in "
    f"together {MAX_VALUES:,} values and {MAX_VALUES // 2:,} characters of code"
)
_NOT_STRUCTURE = bytes(set(range(256)) - set(b"[]{},"))


@dataclass(frozen=True)
class RawCell:
    """A cell: its number, counted from 1, its nbgrader `grade_id`, and its text.

    test: whether the cell holds checks. text: None if it is not text.
    """

    number: int
    code: bool
    test: bool
    grade_id: str
    text: str | None = field(repr=False)


@dataclass
class Room:
    """How much more of one submission's notebooks is read, in values of their JSON.

    A character of code takes as much room as two values, and any 64 bytes as much as one.
    """

    left: int = MAX_VALUES

    def take(self, values: int) -> None:
        """Reserve room for a notebook. Raise SubmissionError if there is not enough."""
        self.left -= values
        if self.left < 0:
            raise SubmissionError(TOO_LARGE)


def _count_values(data: bytes) -> int:
    """Return the room that JSON takes. Raise SubmissionError if it cannot be counted quickly."""
    if len(data) > MAX_NOTEBOOK or data.count(b'"') > 4 * MAX_VALUES:
        raise SubmissionError(TOO_LARGE)
    plain = data.replace(rb"\\", b"").replace(rb"\"", b"")
    structure = re.sub(rb'"[^"]*"?', b"", plain).translate(None, _NOT_STRUCTURE)
    return len(structure) + len(data) // 64


def _list_cells(data: bytes) -> list[Any]:
    """Return the cells of format 4, or of format 3, which keeps them in worksheets."""
    try:
        # Numbers are not needed, and a whole number may have a million digits.
        notebook = json.loads(data, parse_int=float)
    except (ValueError, RecursionError) as error:
        line = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise SubmissionError(f"its JSON is broken{line}") from error
    if not isinstance(notebook, dict):
        raise SubmissionError("it is JSON, but not a notebook")
    sheets = notebook.get("worksheets")
    lists = [notebook.get("cells")]
    if isinstance(sheets, list):
        lists += [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
    cells = [cell for some in lists if isinstance(some, list) for cell in some]
    if not cells:
        raise SubmissionError("it has no cells")
    if len(cells) > MAX_CELLS:
        raise SubmissionError(f"it has more than {MAX_CELLS:,} cells")
    return cells


def _text(cell: Mapping[str, Any]) -> str | None:
    """Return a cell's text, which is a string or a list of lines, or None if it is neither."""
    text = cell.get("source", cell.get("input", ""))
    if isinstance(text, list) and all(isinstance(line, str) for line in text):
        text = "".join(text)
    if not isinstance(text, str) or "\0" in text or re.search("[\ud800-\udfff]", text):
        return None
    return text


def _cell(number: int, cell: Mapping[str, Any]) -> RawCell:
    metadata = cell.get("metadata")
    found = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    nbgrader = found if isinstance(found, dict) else {}
    grade_id = nbgrader.get("grade_id")
    tag = grade_id if isinstance(grade_id, str) else ""
    graded = nbgrader.get("grade") is True and nbgrader.get("solution") is not True
    test = graded or tag.startswith("check_")
    return RawCell(number, cell.get("cell_type") == "code", test, tag, _text(cell))


def raw_cells(data: bytes, room: Room | None = None) -> Iterator[RawCell]:
    """Yield the cells of the notebook in these bytes. Raise SubmissionError if it is not one.

    room: what all notebooks of a submission share.
    """
    (room or Room()).take(_count_values(data))
    for number, cell in enumerate(_list_cells(data), 1):
        if isinstance(cell, dict):
            yield _cell(number, cell)
