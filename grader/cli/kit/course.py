"""The command `course`: check an assignment file, and say in words what it means."""

from pathlib import Path

import click

from grader.classroom.course import Course, Late, read_course
from grader.classroom.overrides import read_overrides
from grader.classroom.tables import read_roster
from grader.cli.options import PATH
from grader.report.influences import count_words
from grader.report.problem import Problem, find_steps
from grader.report.sanitize import one_line
from grader.steps.registry import Step, load


@click.command("course")
@click.argument("file", type=PATH, default=Path("course.toml"))
def course(file: Path) -> None:
    """Check the assignment file FILE and its class list, and print what they mean."""
    found = read_course(file, load())
    roster = read_roster(file.parent / found.roster, found.timezone) if found.roster else []
    overrides = read_overrides(file.parent / found.overrides, load()) if found.overrides else []
    lines = _describe(found)
    lines += [f"class list: {count_words(len(roster), 'student')}"] if roster else []
    lines += [f"changes by hand: {len(overrides)}"] if overrides else []
    for line in lines:
        click.echo(one_line(line, 300))


def course_in(file: Path | None, names: tuple[str, ...]) -> tuple[Course, tuple[Step, ...]]:
    """Return the assignment in a file, or an empty one without a file, and its steps."""
    if file is None:
        return Course(), find_steps(load(), names)
    if names:
        raise Problem(f"leave out the steps: --course {file} names them")
    course = read_course(file, load())
    return course, find_steps(load(), course.steps)


def _describe(course: Course) -> list[str]:
    """Return the assignment in words, one line for each rule."""
    steps = [load().find(id) for id in course.steps]
    worth = sum(
        step.max_points * course.weights.get(step.id, 1.0)
        for step in steps
        if step.id not in course.extra_credit
    )
    lines = [
        f"{course.title}: steps {', '.join(str(step.number) for step in steps)}",
        f"worth {worth:g} points" + (f", scaled to {course.points:g}" if course.points else ""),
    ]
    late = course.late or Late()
    least = f", {late.floor_percent:g} % always remain" if late.floor_percent else ""
    rules = {
        f"extra credit: {', '.join(course.extra_credit)}": course.extra_credit,
        f"dropped: the lowest {count_words(course.drop, 'step')}": course.drop,
        f"due {course.due}; {count_words(len(course.extensions), 'extension')}": course.due,
        f"feedback: full, from {course.closes} on": course.feedback,
        f"late: {late.percent_per_day:g} % for each day begun after {late.grace_minutes:g} minutes "
        f"of grace{least}": course.late,
        count_words(len(course.groups), "group"): course.groups,
    }
    return [*lines, *(line for line, is_set in rules.items() if is_set)]
