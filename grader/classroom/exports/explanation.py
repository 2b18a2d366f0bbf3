"""Explain a check to a student, in plain text, without a hidden value."""

from __future__ import annotations

from grader.report.records import CheckVerdict, StepVerdict
from grader.report.sanitize import visible


def explain_check(check: CheckVerdict) -> str:
    """Return the fault of a check, its known cause and the hint; nothing if it passed."""
    parts = [check.message]
    if check.diagnosis is not None:
        parts += [check.diagnosis.says, f"Hint: {check.diagnosis.hint}"]
    return visible("\n".join(part for part in parts if part))


def step_number(step: StepVerdict, place: int) -> int:
    """Return 3 for step03_mask, or the index of a step whose name has another form."""
    return step.number or place
