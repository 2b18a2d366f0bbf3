"""Record which grades were exported, so that the next export knows them as nopeek's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.classroom.gradebook import lock_pages
from grader.report.files import write_whole

EXPORTED = ".exported.json"
MOST = 20  # grades of a row, the latest


def _read_all(graded: Path) -> dict[str, Any]:
    try:
        data = json.loads((graded / EXPORTED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    fine = isinstance(data, dict) and all(isinstance(one, dict) for one in data.values())
    return data if fine else {}


def read(graded: Path, column: str) -> dict[str, list[str]]:
    """Return which grades were exported into a column, by row, the latest last.

    Not every file that was exported was also imported, so all of them are known.
    """
    rows = _read_all(graded).get(column, {})
    return {row: [one] if isinstance(one, str) else list(one) for row, one in rows.items()}


def note(graded: Path, column: str, cells: Mapping[str, str]) -> None:
    """Add the grades of an export to the record. Two exports may end at once."""
    with lock_pages(graded):
        known = read(graded, column)
        for row, text in cells.items():
            others = [one for one in known.get(row, ()) if one != text]
            known[row] = [*others[1 - MOST :], text]
        write_whole(graded / EXPORTED, [json.dumps({**_read_all(graded), column: known})])
