"""What a student is told of a check, in plain text, without a hidden value."""

from __future__ import annotations

import re

from grader.report.records import CheckVerdict, StepVerdict
from grader.report.sanitize import visible


def explain_check(check: CheckVerdict) -> str:
    """What is wrong, its cause where one is known, and the hint; nothing if nothing is wrong."""
    parts = [check.message]
    if check.diagnosis is not None:
        parts += [check.diagnosis.says, f"Hint: {check.diagnosis.hint}"]
    return visible("\n".join(part for part in parts if part))


def step_number(step: StepVerdict, place: int) -> int:
    """3 for step03_mask; for a step of another name its place."""
    match = re.match(r"step(\d+)", step.step)
    return int(match[1]) if match else place
