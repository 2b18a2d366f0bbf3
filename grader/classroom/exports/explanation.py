"""Say what steps and checks earned, in plain text, without a hidden value."""

from __future__ import annotations

from grader.report.records import CheckVerdict, Graded, StepVerdict
from grader.report.sanitize import visible


def explain_check(check: CheckVerdict) -> str:
    """Return the fault of a check, its known cause and the hint; nothing if it passed."""
    parts = [check.message]
    if check.diagnosis is not None:
        parts += [check.diagnosis.says, f"Hint: {check.diagnosis.hint}"]
    return visible("\n".join(part for part in parts if part))


def points_of_steps(graded: Graded) -> dict[str, float]:
    """Return the points of each step with changes by hand, without the excused ones."""
    steps = graded.report.steps if graded.report else ()
    if graded.excused:
        return {}
    if graded.grade and graded.grade.steps:
        return dict(graded.grade.steps)
    return {step.step: step.points for step in steps}


def step_number(step: StepVerdict, place: int) -> int:
    """Return 3 for step03_mask, or the index of a step whose name has another form."""
    return step.number or place
