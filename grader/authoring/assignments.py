"""Generate nbgrader's source notebooks from the solutions: one assignment for every step.

A lesson stays a lesson. The cell of a function is a solution cell, with the function's name as its
`grade_id`. Below it is a test cell `check_<function>`, worth as many points as the function's
checks. A test cell contains only one call, because nbgrader's pages print the source of test cells.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.steps.paths import ROOT
from grader.steps.registry import Registry, Step
from grader.steps.stubs import SELF_STUDY, BuildError, find_defined, solution_of

SOURCE = ROOT / "notebooks" / "nbgrader" / "source"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CHECK = "from grader.course.cells import check\n\ncheck({name!r})"
SETUP = "import grader.course.cells  # the earlier steps can be imported from now on"


def _nbgrader(grade_id: str, **more: Any) -> dict[str, Any]:
    """Return the metadata of schema 3 for one cell."""
    plain = {"grade": False, "locked": False, "solution": False, "task": False}
    return {"nbgrader": {"schema_version": 3, "grade_id": grade_id, **plain, **more}}


def _code(step: Step, source: str, number: int, scale: float) -> Iterator[Any]:
    """Yield the cells that one code cell of a solution becomes.

    Raise BuildError if a function cannot be graded.
    """
    found = find_defined(source, step)
    if "from exercises." in source:
        yield new_code_cell(SETUP, id="setup", metadata=_nbgrader("check_setup", locked=True))
    if not found:
        if "### BEGIN SOLUTION" in source:
            raise BuildError(f"{step.id}, cell {number}: a solution outside any function")
        yield new_code_cell(source, id=f"cell-{number}")
        return
    if len(found) > 1:
        names = ", ".join(function.name for function in found)
        raise BuildError(
            f"{step.id}, cell {number}: give each function a cell of its own ({names})"
        )
    (function,) = found
    metadata = _nbgrader(function.name, solution=True)
    yield new_code_cell(source, id=function.name, metadata=metadata)
    if function.checks:
        name = f"check_{function.name}"
        points = scale * sum(check.points for check in function.checks)
        metadata = _nbgrader(name, grade=True, locked=True, points=points)
        yield new_code_cell(CHECK.format(name=function.name), id=name[:64], metadata=metadata)


def notebook(step: Step, text: str) -> str:
    """Return a step's source notebook as text. text: its solution, in percent cells."""
    return _write(_cells(step, text))


def _cells(step: Step, text: str, scale: float = 1.0) -> Iterator[Any]:
    """Yield the cells of a step. scale: how much a point of its checks is worth."""
    for number, cell in enumerate(jupytext.reads(text, fmt="py:percent").cells, 1):
        if SELF_STUDY in cell.metadata.get("tags", ()):
            continue
        if cell.cell_type == "code":
            yield from _code(step, cell.source, number, scale)
        else:
            yield new_markdown_cell(cell.source, id=f"cell-{number}")


def _write(cells: Iterable[Any]) -> str:
    made = new_notebook(cells=list(cells), metadata=METADATA)
    nbformat.validate(made)
    return f"{nbformat.writes(made, version=4)}\n"


def notebook_of_several(steps: Sequence[Step], scales: Mapping[str, float]) -> str:
    """Return one source notebook of several steps as a file's text.

    A step finds the functions of another one in the notebook's own cells, so it does not import
    them. scales: how much a point of each step's checks is worth, by the step's id.
    """
    names, made = "|".join(step.id for step in steps), dict[str, Any]()
    own = re.compile(rf"^from exercises\.(?:{names}) import [^\n]*\n?", re.MULTILINE)
    for step in steps:
        text = own.sub("", solution_of(step))
        for cell in _cells(step, text, scales.get(step.id, 1.0)):
            if cell.id.startswith("cell-"):
                cell.id = f"{step.id.partition('_')[0]}-{cell.id}"
            made.setdefault(cell.id, cell)  # one cell for the set-up is enough
    return _write(made.values())


def assignments(registry: Registry) -> Mapping[Path, str]:
    """Return all source notebooks by path."""
    return {
        SOURCE / step.id / f"{step.id}.ipynb": notebook(step, solution_of(step))
        for step in registry.steps
    }
