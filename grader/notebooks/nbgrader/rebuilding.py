"""Write a submitted notebook anew: the student's text, and everything else as it was released.

No output, metadata or attachment of the student's file is kept. nbgrader's database has the text
and points of its own cells. Locked cells are restored from there, whatever happened to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.intake.ipynb import RawCell

# Of every notebook of an assignment.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# The patterns with which nbgrader's pages colour Python take hours for some sources.
UNCOLOURED = {**METADATA, "language_info": {"name": "python", "pygments_lexer": "text"}}
MAX_SHOWN = 1_000_000  # characters; a page of so many takes seconds
NOT_SHOWN = "# This cell is not shown: the notebook is too long."


@dataclass(frozen=True)
class StoredCell:
    """A cell as nbgrader's database stores it. text: the text of a locked cell."""

    grade_id: str
    code: bool
    locked: bool
    text: str
    nbgrader: Mapping[str, Any]


def tame(text: str) -> str:
    """Return a student's text as Markdown that shows it exactly as it was typed.

    Elements, links and formulas could run scripts on an instructor's page.
    """
    # Two would not make a fence: text between them ends with the paragraph.
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _cell(code: bool, text: str, id: str, known: StoredCell | None) -> Any:
    metadata = {"nbgrader": dict(known.nbgrader)} if known else {}
    if known and known.locked:
        metadata.update({"deletable": False, "editable": False})  # type: ignore[dict-item]
    new = new_code_cell if code else new_markdown_cell
    return new(text, id=id, metadata=metadata)


def _keep_cell(raw: RawCell, known: StoredCell | None, lessons: Collection[str]) -> Any:
    """Return a cell to keep, with nbgrader's metadata if it is one of nbgrader's."""
    text = raw.text or ""
    code = known.code if known else raw.code
    if not code and text not in lessons:
        text = tame(text)
    return _cell(code, text, f"cell-{raw.number}", known)


def _restore(mine: StoredCell) -> Any:
    return _cell(mine.code, mine.text, mine.grade_id[:64], mine)


def _put_back(made: list[Any], known: Mapping[str, StoredCell], missing: Collection[str]) -> None:
    """Insert missing cells after the cell that they followed in the release, if it is there."""
    above = ""
    for grade_id, mine in known.items():
        if grade_id in missing:
            ids = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in made]
            made.insert(ids.index(above) + 1 if above in ids else len(made), _restore(mine))
        above = grade_id


def rebuild(
    cells: Sequence[RawCell],
    known: Mapping[str, StoredCell],
    lessons: Collection[str],
    warn: Callable[[str], None],
) -> Any:
    """Return the notebook. lessons: the course's own texts; warn: called with each repair."""
    last = {raw.grade_id: raw for raw in cells if raw.grade_id in known}
    left = MAX_SHOWN
    made = []
    for raw in cells:
        mine = known.get(raw.grade_id)
        if mine is not None and last[raw.grade_id] is not raw:
            second = f"cell {raw.number} is a second {raw.grade_id}"
            if mine.locked:
                warn(f"{second}; the last one counts")
                continue
            warn(second)  # the judge decides which of them counts
            mine = None
        if mine is None or not mine.locked:
            before, left = left, left - len(raw.text or "")
            if left < 0:
                if before >= 0:
                    warn(f"cell {raw.number} is not shown, and none after it: it is too long")
                raw = replace(raw, text=NOT_SHOWN)
            made.append(_keep_cell(raw, mine, lessons))
            continue
        if (raw.text, raw.code) != (mine.text, mine.code):
            warn(f"cell {raw.number}, {mine.grade_id}, was changed; it is as released again")
        made.append(_restore(mine))
    missing = [
        mine.grade_id for mine in known.values() if mine.locked and mine.grade_id not in last
    ]
    for grade_id in missing:
        warn(f"{grade_id} was missing; it is there again")
    _put_back(made, known, missing)
    return new_notebook(cells=made, metadata=UNCOLOURED)
