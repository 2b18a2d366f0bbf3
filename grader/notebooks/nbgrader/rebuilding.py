"""Write a submitted notebook anew, and the judge's findings below its test cells.

Only the student's text is kept, and everything else is as it was released. No output, metadata or
attachment of the student's file is kept. Locked cells are restored, whatever happened to them.

nbgrader reads the score below a test cell as plain text, and people read the rest as HTML. Of
hidden checks it shows only what a student may know, and no number.
"""

import copy
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.utils import is_grade, is_locked, is_solution

from grader.intake.notebooks import RawCell
from grader.report.html.page import template
from grader.report.records import StepVerdict

PREFIX = "check_"
# The patterns with which nbgrader's pages colour Python take hours for some sources.
UNCOLOURED = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "text"},
}
MAX_SHOWN = 1_000_000  # characters; a page of so many takes seconds
NOT_SHOWN = "# This cell is not shown: the notebook is too long."


def grade_id_of(cell: Any) -> str:
    """Return the id that nbgrader has given to a released cell, or ""."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def tame(text: str) -> str:
    """Return a student's text as Markdown that shows it exactly as it was typed.

    Elements, links and formulas could run scripts on an instructor's page.
    """
    # Two would not make a fence: text between them ends with the paragraph.
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _restore(mine: Any) -> Any:
    made = copy.deepcopy(mine)
    made["id"] = grade_id_of(mine)[:64]
    return made


def rebuild(cells: Sequence[RawCell], released: Sequence[Any], warn: Callable[[str], None]) -> Any:
    """Return the notebook. released: the cells that students got; warn: called with each repair."""
    known = {name: cell for cell in released if (name := grade_id_of(cell))}
    last = {raw.grade_id: raw for raw in cells if raw.grade_id in known}
    lessons = {cell.source for cell in released}
    left, made = MAX_SHOWN, []
    for raw in cells:
        mine = known.get(raw.grade_id)
        if mine is not None and last[raw.grade_id] is not raw:
            warn(f"cell {raw.number} is a second {raw.grade_id}")  # the judge decides which counts
            if is_locked(mine):
                continue
            mine = None
        if mine is not None and is_locked(mine):
            if (raw.text, raw.code) != (mine.source, mine.cell_type == "code"):
                warn(f"cell {raw.number}, {raw.grade_id}, was changed; it is as released again")
            made.append(_restore(mine))
            continue
        left -= len(raw.text or "")
        text = (raw.text or "") if left >= 0 else NOT_SHOWN
        is_code = raw.code if mine is None else mine.cell_type == "code"
        shown = text if is_code or text in lessons else tame(text)
        metadata = {} if mine is None else copy.deepcopy(mine.metadata)
        new = new_code_cell if is_code else new_markdown_cell
        made.append(new(shown, id=f"cell-{raw.number}", metadata=metadata))
    if left < 0:
        warn("the notebook is too long: not all of its cells are shown")
    for name, mine in known.items():
        if is_locked(mine) and name not in last:
            warn(f"{name} was missing; it is there again, at the end")
            made.append(_restore(mine))
    return new_notebook(cells=made, metadata=UNCOLOURED)


def is_test(cell: Any) -> bool:
    """Return whether a cell is a test cell, which earns points by itself."""
    return bool(cell.cell_type == "code" and is_grade(cell) and not is_solution(cell))


def output(verdict: StepVerdict, most: float, warnings: Sequence[str] = ()) -> Any:
    """Return the output of the test cell of a function, which has so many points.

    verdict: on that function alone. warnings: what was ignored in reading the notebook.
    """
    earned, worth = verdict.points, verdict.max_points
    share = earned if most == worth else earned * most / worth
    html = template("cell.html").render(step=verdict, warnings=warnings).strip()
    data = {"text/plain": repr(float(min(max(share, 0.0), most))), "text/html": html}
    return new_output("execute_result", data=data, execution_count=None)


def is_finished(path: Path) -> bool:
    """Return whether an autograded notebook exists, with something below each test cell.

    nbgrader writes it twice, and the first time without any output.
    """
    try:
        cells = nbformat.read(path, as_version=4).cells
    except (OSError, ValueError):
        return False
    return all(cell.outputs for cell in cells if is_test(cell))
