"""Show the judge's findings on one function as the output of its test cell.

nbgrader reads the score in it as plain text, and people read the rest as HTML. Of hidden checks it
shows only what a student may know, and no number.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_output
from nbgrader.utils import is_grade, is_solution

from grader.report.html.page import template
from grader.report.records import StepVerdict

PREFIX = "check_"


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


def no_verdict(reason: str) -> Any:
    """Return the output of a test cell without a verdict, which earns nothing."""
    return new_output("error", ename="NoVerdict", evalue=reason, traceback=[f"NoVerdict: {reason}"])
