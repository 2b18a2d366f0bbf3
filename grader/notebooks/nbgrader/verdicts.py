"""Show the judge's findings on one function as the output of its test cell.

nbgrader reads the score in it as plain text, and people read the rest as HTML. Of hidden checks it
shows only what a student may know, and no number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nbformat.v4 import new_output

from grader.report.html.page import shared_message, template
from grader.report.records import CheckVerdict, Diagnosis, Status, StepVerdict

PREFIX = "check_"


def _rows(checks: Sequence[CheckVerdict]) -> Iterator[tuple[CheckVerdict, str, Diagnosis | None]]:
    """Yield each check, its message, and its cause if that is new."""
    causes = set()
    for check in checks:
        said = check.failing or check.status is Status.SKIPPED
        cause = check.diagnosis if check.failing and check.diagnosis not in causes else None
        causes.add(cause)
        yield check, check.message if said else "", cause


def _html(verdict: StepVerdict, warnings: Sequence[str]) -> str:
    shared = shared_message(list(verdict.checks))
    data = {
        "function": verdict.checks[0].function,
        "rows": list(_rows(verdict.checks)),
        "shared": shared,
        "about_all": "" if verdict.message == shared else verdict.message,
        "warnings": warnings,
    }
    return template("cell.html").render(data).strip()


def _scale(verdict: StepVerdict, most: float) -> float:
    """Return the points, scaled to nbgrader's maximum."""
    earned, worth = verdict.points, verdict.max_points
    share = earned if most == worth else earned * most / worth
    return float(min(max(share, 0.0), most))


def output(verdict: StepVerdict, most: float, warnings: Sequence[str] = ()) -> Any:
    """Return the output of the test cell of a function, which has so many points.

    verdict: on that function alone. warnings: what was ignored in reading the notebook.
    """
    data = {"text/plain": repr(_scale(verdict, most)), "text/html": _html(verdict, warnings)}
    return new_output("execute_result", data=data, execution_count=None)


def is_finished(path: Path) -> bool:
    """Return whether an autograded notebook exists, with something below each test cell.

    nbgrader writes it twice, and the first time without any output.
    """
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, LookupError):
        return False
    tests = [cell for cell in cells if _is_test(cell)]
    return all(cell.get("outputs") for cell in tests)


def _is_test(cell: dict[str, Any]) -> bool:
    mine = cell["metadata"].get("nbgrader", {})
    return bool(cell["cell_type"] == "code" and mine.get("grade") and not mine.get("solution"))


def no_verdict(reason: str) -> Any:
    """Return the output of a test cell without a verdict, which earns nothing."""
    return new_output("error", ename="NoVerdict", evalue=reason, traceback=[f"NoVerdict: {reason}"])
