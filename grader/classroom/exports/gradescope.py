"""Write results.json of a Gradescope autograder."""

from __future__ import annotations

import json
from typing import Any

from grader.classroom.exports.explanation import explain_check, step_number
from grader.classroom.exports.options import Options
from grader.report.records import CheckVerdict, Graded, Report, Status
from grader.report.sanitize import visible


def _test(check: CheckVerdict, number: str, step: str) -> dict[str, Any]:
    return {
        "score": check.points,
        "max_score": check.max_points,
        "status": "passed" if check.status is Status.PASSED else "failed",
        "name": f"{step}: {check.title}",
        "number": number,
        "output": explain_check(check),
        "output_format": "text",
        "tags": [check.check, check.function],
        "visibility": "visible",
    }


def _tests(report: Report) -> list[dict[str, Any]]:
    return [
        _test(check, f"{step_number(step, i)}.{j}", step.title)
        for i, step in enumerate(report.steps, start=1)
        for j, check in enumerate(step.checks, start=1)
    ]


def _output(graded: Graded) -> str:
    report, grade = graded.report, graded.grade
    of = f" ({report.suite} checks)" if report else ""
    lines = [f"{graded.score or 0:g} of {graded.max_score or 0:g} points{of}."]
    lines += [graded.reason] if graded.reason else []
    lines += grade.notes if grade else ()
    verdicts = report.steps if report else ()
    lines += [f"{step.title}: {step.message}" for step in verdicts if step.message]
    return visible("\n".join([*lines, *graded.warnings]))


def results(graded: Graded) -> dict[str, Any]:
    """Return the results of a graded submission as JSON data.

    Raise ValueError for one without a score.
    """
    if graded.score is None:
        raise ValueError("there is no score")
    return {
        "score": graded.score,
        "execution_time": round(graded.seconds),
        "output": _output(graded),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": _tests(graded.report) if graded.report else [],
    }


def failure(reason: str) -> dict[str, Any]:
    """Return empty results: no points, and the reason."""
    return {
        "score": 0.0,
        "output": visible(reason),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [],
    }


def gradescope(graded: Graded, options: Options) -> str | None:
    """Return one student's file, or None for a student without a score."""
    return json.dumps(results(graded), indent=1) + "\n" if graded.score is not None else None
