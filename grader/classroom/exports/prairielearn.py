"""Write results.json of a PrairieLearn external grader."""

from __future__ import annotations

import json
from typing import Any

from grader.classroom.exports.explanation import explain_check
from grader.classroom.exports.options import Options
from grader.report.records import CheckVerdict, Graded
from grader.report.sanitize import one_line, visible


def _test(check: CheckVerdict, step: str) -> dict[str, Any]:
    return {
        "name": f"{step}: {check.title}",
        "points": check.points,
        "max_points": check.max_points,
        "message": explain_check(check),
        "output": "",
    }


def _results(graded: Graded) -> dict[str, Any]:
    score, most = graded.score or 0.0, graded.max_score or 0.0
    steps = graded.report.steps if graded.report else ()
    notes = graded.grade.notes if graded.grade else ()
    return {
        "gradable": True,
        "score": min(1.0, max(0.0, score / most)) if most else 0.0,
        "message": f"{score:g} of {most:g} points.",
        "output": visible("\n".join([*notes, *graded.warnings])),
        "tests": [_test(check, step.title) for step in steps for check in step.checks],
    }


def prairielearn(graded: Graded, options: Options) -> str | None:
    """Return one student's file; a submission that is not gradable costs no attempt."""
    if graded.score is not None:
        data = _results(graded)
    else:
        notes = graded.grade.notes if graded.grade else ()
        reason = one_line(" ".join(filter(None, [graded.reason, *notes])))
        data = {"gradable": False, "score": 0.0, "message": reason, "output": "", "tests": []}
    return json.dumps(data, indent=1) + "\n"
