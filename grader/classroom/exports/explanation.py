"""Say what steps and checks earned, without a hidden value."""

from grader.report.records import CheckVerdict, Graded, Status
from grader.report.sanitize import one_line, visible

SHOWN = 3  # failed checks of a step


def explain_check(check: CheckVerdict) -> str:
    """Return the fault of a check, its known cause and the hint; nothing if it passed."""
    parts = [check.message]
    if check.diagnosis is not None:
        parts += [check.diagnosis.says, f"Hint: {check.diagnosis.hint}"]
    return visible("\n".join(part for part in parts if part))


def points_of_steps(graded: Graded) -> dict[str, float]:
    """Return the points of each step with changes by hand; of an excused or unread one none."""
    if graded.excused:
        return {}
    if graded.grade and graded.grade.steps:
        return dict(graded.grade.steps)
    return {step.step: step.points for step in graded.steps if step.gradable}


def describe(graded: Graded, *, checks: bool = False) -> list[str]:
    """Return the grade in lines of text: points, changes, steps, and what to work on first.

    checks: name the first failed checks of each step, too.
    """
    points = points_of_steps(graded)
    steps = [one for one in graded.steps if one.step in points]
    lines = ["Excused." if graded.excused else "No score yet."]
    if graded.score is not None:
        lines = [f"Points: {graded.score:g} of {graded.max_score or 0:g}."]
    lines += [graded.reason, *graded.notes]
    for step in steps:
        lines.append(f"{step.title}: {points[step.step]:g} of {step.max_points:g}.")
        wrong = [check for check in step.checks if check.message] if checks else []
        lines += [f"  {check.title} {check.message}" for check in wrong[:SHOWN]]
    undone = (step for step in steps if step.status is not Status.PASSED)
    todo = next((step for step in undone if points[step.step] < step.max_points), None)
    lines.append(f"First to work on: {todo.title}." if todo else "")
    return [one_line(part, 300) for line in lines for part in visible(line).split("\n") if part]
