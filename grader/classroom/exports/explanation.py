"""Say what steps and checks earned, without a hidden value."""

from __future__ import annotations

import html
import re

from grader.report.records import CheckVerdict, Graded, Status
from grader.report.sanitize import visible

# Moodle's editor puts tags around a text.
_START = r"(?:\s|&nbsp;|</?(?:p|br|div|span)\b[^>]*>)*"
_EXCUSED = rf"Excused\.(?:{_START}\Z|.*xcused \()"  # not the same word of somebody else
_OURS = re.compile(rf"{_START}(?:\Z|Points: [\d.e+-]+ of [\d.e+-]+\.|{_EXCUSED})", re.DOTALL)


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


def describe(graded: Graded) -> str:
    """Return a paragraph of HTML: the steps' points, changes, and what to work on first."""
    report = graded.report
    grade, points = graded.grade, points_of_steps(graded)
    verdicts = [step for step in report.steps if step.step in points] if report else []
    steps = "; ".join(
        f"{step.title} {points[step.step]:g} of {step.max_points:g}" for step in verdicts
    )
    text = f"Points: {graded.score or 0:g} of {graded.max_score or 0:g}."
    if graded.excused:
        text = "Excused."
    parts = [text, f"{steps}." if steps else "", *(grade.notes if grade else ())]
    undone = (step for step in verdicts if step.status is not Status.PASSED)
    todo = next((step for step in undone if points[step.step] < step.max_points), None)
    parts.append(f"First to work on: {todo.title}." if todo else "")
    return html.escape(visible(" ".join(filter(None, parts))))


def is_own_description(text: str) -> bool:
    """Return whether a feedback comment is empty, or one that `describe` has written.

    >>> is_own_description("Points: 5 of 10. Masks 5 of 5."), is_own_description("Points: see me.")
    (True, False)
    """
    return _OURS.match(text) is not None
