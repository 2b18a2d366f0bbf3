"""results.json of a PrairieLearn external grader."""

from __future__ import annotations

import json
from typing import Any

from grader.classroom.exports.options import Options
from grader.classroom.exports.told import told
from grader.report.records import CheckVerdict, Graded, Report
from grader.report.sanitize import one_line, visible


def _test(check: CheckVerdict, step: str) -> dict[str, Any]:
    return {
        "name": f"{step}: {check.check}",
        "description": check.title,
        "points": check.points,
        "max_points": check.max_points,
        "message": told(check),
        "output": "",
    }


def _results(report: Report, warnings: tuple[str, ...]) -> dict[str, Any]:
    most = report.max_score
    return {
        "gradable": True,
        "score": min(1.0, max(0.0, report.score / most)) if most else 0.0,
        "message": f"{report.score:g} of {most:g} points.",
        "output": visible("\n".join(warnings)),
        "tests": [_test(check, step.title) for step in report.steps for check in step.checks],
    }


def prairielearn(graded: Graded, options: Options) -> str | None:
    """One student's file. What could not be graded is not gradable, and costs no attempt."""
    if graded.report is not None:
        data = _results(graded.report, graded.warnings)
    else:
        reason = one_line(graded.reason)
        data = {"gradable": False, "score": 0.0, "message": reason, "output": "", "tests": []}
    return json.dumps(data, indent=1) + "\n"
