"""Write result.json of Classroom 50, whose points are whole numbers."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

from grader.classroom.exports.options import Options
from grader.report.records import CheckVerdict, Graded, Report, Status
from grader.report.sanitize import one_line

SCHEMA = "classroom50/result/v1"
VARIABLES = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "assignment_type": "ASSIGNMENT_TYPE",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
    "review": "REVIEW_URL",
}
FINEST = 100  # nothing is worth less than a hundredth of a point


def _unit(report: Report) -> int:
    """Return the factor that makes all points whole: 2 if checks are worth half points."""
    worth = [check.max_points for step in report.steps for check in step.checks]
    return math.lcm(*(Fraction(points).limit_denominator(FINEST).denominator for points in worth))


def _whole(points: float, unit: int) -> int:
    """Return the points as a whole number, never more than were earned."""
    return math.floor(points * unit + 1e-6)


def _test(check: CheckVerdict, step: str, unit: int) -> dict[str, Any]:
    return {
        "test-name": f"{step}.{check.check}",
        "passed": check.status is Status.PASSED,
        "score": _whole(check.points, unit),
        "max-score": _whole(check.max_points, unit),
    }


def classroom50(graded: Graded, options: Options) -> str | None:
    """Return one student's file, or None for a student without a score.

    Points by hand need no report, if it is known what the assignment is worth.
    """
    report, score = graded.report, graded.score
    if score is None or not (report or graded.max_score):
        return None
    unit = _unit(report) if report else 1
    steps = report.steps if report else ()
    tests = [_test(check, step.step, unit) for step in steps for check in step.checks]
    most = sum(test["max-score"] for test in tests) or math.ceil(graded.max_score or 0)
    earned = sum(test["score"] for test in tests)
    if graded.grade is not None and graded.max_score:
        share = most / graded.max_score
        earned = math.floor(score * share + 1e-6 * (1 + share))  # the score has six decimals
    data = {
        "schema": SCHEMA,
        **{name: options.environment.get(key, "") for name, key in VARIABLES.items()},
        "owner": one_line(graded.student),
        "datetime": options.graded_at,
        "graded_at": options.graded_at,
        "score": earned,
        "max-score": most,
        "tests": tests,
    }
    return json.dumps(data, indent=1) + "\n"
