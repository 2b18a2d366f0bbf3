"""Write changes by hand into `overrides.csv`, and keep every other byte of it."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.classroom.course import MAX_TABLE, CourseError, instructors_text
from grader.classroom.exports.cells import TableCell, read
from grader.classroom.exports.options import ExportError
from grader.classroom.exports.spreadsheet import protect_cell
from grader.classroom.tables import HEADER, Override, read_overrides
from grader.report.files import write_whole
from grader.steps.registry import Registry

MARK = "\ufeff"


@dataclass(frozen=True)
class RequestedChange:
    """A requested change; texts as they were typed."""

    student: str
    target: str = ""
    points: str = ""
    excuse: str = ""
    comment: str = ""
    who: str = ""
    when: str = ""

    def cells(self) -> dict[str, str]:
        """Return its cells by the names of the columns; none starts a formula."""
        texts = (self.student, self.target, self.points, self.excuse, self.comment)
        named = zip(HEADER.split(","), (*texts, self.who, self.when), strict=True)
        return {name: protect_cell(text.strip()) for name, text in named}


def key_of(one: Override) -> str:
    """Return the key of a change, which does not depend on the place of its row."""
    texts = (
        one.student,
        one.target,
        one.line,
        one.points,
        one.excuse,
        one.comment,
        one.who,
        one.when,
    )
    return hashlib.sha256(repr(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def add(
    path: Path, entry: RequestedChange, registry: Registry, replaced: Sequence[Override] = ()
) -> None:
    """Append a change in place of those it replaces. Raise CourseError if it is wrong.

    The file is unchanged then. Raise OSError if the file cannot be written.
    """
    text = _without(_text(path), replaced)
    header = _rows(path, text)[0]
    separator = text[header[0].end : header[1].start] if len(header) > 1 else ","
    cells = entry.cells()
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator=_line_end(text)).writerow(
        [cells.get(one.text.strip().casefold(), "") for one in header]
    )
    start = text if text.endswith(("\n", "\r")) else text + _line_end(text)
    _write(path, start + line.getvalue(), registry)


def remove(path: Path, one: Override, registry: Registry) -> None:
    """Take a change back. Raise CourseError if the file would be wrong without it."""
    _write(path, _without(_text(path), [one]), registry)


def _text(path: Path) -> str:
    """Return the file's text with its byte order mark, if it has one; a header if it is empty."""
    if not path.exists() or not path.stat().st_size:
        return f"{HEADER}\n"
    text = instructors_text(path, MAX_TABLE)
    marked = path.read_bytes()[:2] in (b"\xef\xbb", b"\xff\xfe", b"\xfe\xff")
    return MARK + text.removeprefix(MARK) if marked else text


def _rows(path: Path, text: str) -> list[list[TableCell]]:
    try:
        return read(text)
    except ExportError as error:
        raise CourseError(f"{path.name}: {error}") from None


def _without(text: str, changes: Sequence[Override]) -> str:
    """Return the text without the rows of these changes."""
    rows = read(text)
    for number in sorted((one.row for one in changes), reverse=True):
        row = rows[number - 1]
        end = re.compile(r"\r\n|\n|\r|\Z").search(text, row[-1].end)
        assert end is not None  # the text has an end
        text = text[: row[0].start] + text[end.end() :]
    return text


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _write(path: Path, text: str, registry: Registry) -> None:
    """Write the file if everything in it is right."""
    descriptor, name = tempfile.mkstemp(".csv", ".overrides", path.parent)
    os.close(descriptor)
    tried = Path(name)
    try:
        write_whole(tried, [text])
        read_overrides(tried, registry)
    except CourseError as error:
        raise CourseError(str(error).replace(tried.name, path.name)) from None
    finally:
        tried.unlink(missing_ok=True)
    write_whole(path, [text])
