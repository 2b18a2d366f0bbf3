"""Show the judge's findings on one function as the output of its test cell.

nbgrader reads the score in it as plain text, and people read the rest as HTML. Of hidden checks it
shows only what a student may know, and no number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat.v4 import new_output

from grader.report.html.page import failing, shared_message, template
from grader.report.records import CheckVerdict, Diagnosis, Report, Status, StepVerdict

PREFIX = "check_"


@dataclass(frozen=True)
class FunctionVerdicts:
    """The verdicts on one function, and the step that it belongs to."""

    function: str
    step: StepVerdict
    checks: tuple[CheckVerdict, ...]

    def points(self, most: float) -> float:
        """Return its points, scaled to nbgrader's maximum."""
        worth = sum(check.max_points for check in self.checks)
        earned = sum(check.points for check in self.checks)
        share = earned if most == worth else earned * most / worth
        return float(min(max(share, 0.0), most))


def find_verdicts(report: Report, function: str) -> FunctionVerdicts | None:
    """Return the verdicts on a function, or None if the report has none."""
    for step in report.steps:
        checks = tuple(check for check in step.checks if check.function == function)
        if checks:
            return FunctionVerdicts(function, step, checks)
    return None


def _rows(checks: Sequence[CheckVerdict]) -> Iterator[tuple[CheckVerdict, str, Diagnosis | None]]:
    """Yield each check, its message, and its cause if that is new."""
    causes = set()
    for check in checks:
        said = failing(check) or check.status is Status.SKIPPED
        cause = check.diagnosis if failing(check) and check.diagnosis not in causes else None
        causes.add(cause)
        yield check, check.message if said else "", cause


def _html(found: FunctionVerdicts, warnings: Sequence[str]) -> str:
    shared = shared_message(list(found.checks))
    data = {
        "found": found,
        "rows": list(_rows(found.checks)),
        "shared": shared,
        "about_all": "" if found.step.message == shared else found.step.message,
        "warnings": warnings,
    }
    return template("cell.html").render(data).strip()


def output(found: FunctionVerdicts, most: float, warnings: Sequence[str] = ()) -> Any:
    """Return the output of a test cell with that many points.

    warnings: what was ignored in reading the notebook.
    """
    data = {"text/plain": repr(found.points(most)), "text/html": _html(found, warnings)}
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
