"""Write changes by hand into `overrides.csv`, beside the instructor's own rows and columns."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.classroom.exports.spreadsheet import protect_cell
from grader.classroom.tables import (
    HEADER,
    Override,
    Row,
    parse_overrides,
    read_table,
    write_table,
)
from grader.steps.registry import Registry


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
        named = zip(HEADER.split(","), vars(self).values(), strict=True)
        return {name: protect_cell(text.strip()) for name, text in named}


def key_of(one: Override) -> str:
    """Return the key of a change, which does not depend on the place of its row."""
    text = repr(replace(one, row=0))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def add(
    path: Path, entry: RequestedChange, registry: Registry, replaced: Sequence[Override] = ()
) -> None:
    """Append a change in place of those it replaces. Raise CourseError if it is wrong.

    The file is unchanged then. Raise OSError if the file cannot be written.
    """
    header, *rows = _without(path, replaced)
    cells = entry.cells()
    new = [cells.get(name.casefold(), "") for name in header]
    _write(path, [header, *rows, new], registry)


def remove(path: Path, one: Override, registry: Registry) -> None:
    """Take a change back. Raise CourseError if the file would be wrong without it."""
    _write(path, _without(path, [one]), registry)


def _without(path: Path, changes: Sequence[Override]) -> list[Row]:
    """Return the rows of a file, or a header if it is empty, without those of these changes."""
    if not path.exists() or not path.stat().st_size:
        return [HEADER.split(",")]
    gone = {one.row for one in changes}
    return [row for number, row in enumerate(read_table(path), start=1) if number not in gone]


def _write(path: Path, rows: Sequence[Row], registry: Registry) -> None:
    """Write the file if everything in it is right."""
    parse_overrides(path.name, rows, registry)
    write_table(path, [row for row in rows if any(row)])
