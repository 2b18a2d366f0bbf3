"""The command `nbgrader`: write one assignment of an nbgrader course from its assignment file."""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from grader.classroom.course import Course
from grader.classroom.people import Person, compose
from grader.classroom.tables import read_roster
from grader.cli.kit.course import course_in
from grader.cli.options import PATH
from grader.report.files import write_whole
from grader.report.problem import need
from grader.report.sanitize import one_line
from grader.steps.commands import quote_path
from grader.steps.paths import ROOT
from grader.steps.registry import Step

CONFIG = "nbgrader_config.py"
UNKNOWN = ("drop", "extra_credit", "groups")  # of an assignment file


@click.command("nbgrader")
@click.argument("file", type=PATH)
@click.option("--out", type=PATH, default=Path("nbgrader"), help="A folder.")
def nbgrader(file: Path, out: Path) -> None:
    """Write the assignment of FILE into a course on nbgrader: one notebook with all its steps."""
    need("nbgrader", "nbgrader is not installed: run `make nbgrader`")
    course, steps = course_in(file, ())
    roster = read_roster(file.parent / course.roster, course.timezone) if course.roster else []
    path = _write(file, course, steps, out)
    _note_in_gradebook(course, roster, out)
    click.echo(f"wrote {path}")
    for sentence in _unknown_to_nbgrader(course, roster):
        click.echo(f"note: {sentence}")
    click.echo(f"Next: cd {quote_path(out)}; nbgrader generate_assignment {course.name}")


def _write(file: Path, course: Course, steps: Sequence[Step], out: Path) -> Path:
    """Write the notebook, the assignment file and, if there are none, the course's settings."""
    from grader.authoring.assignments import notebook_of_several

    worth = {step.id: step.max_points * course.weights.get(step.id, 1.0) for step in steps}
    counted = sum(points for id, points in worth.items() if id not in course.extra_credit)
    scale = course.points / counted if course.points and counted else 1.0
    scales = {step.id: scale * course.weights.get(step.id, 1.0) for step in steps}
    path = out / "source" / course.name / f"{course.name}.ipynb"
    kept = out / "assignments" / f"{course.name}.toml"
    for folder in (path.parent, kept.parent):
        folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, [notebook_of_several(steps, scales)])
    if file.resolve() != kept.resolve():
        shutil.copyfile(file, kept)
    if not (out / CONFIG).exists():
        shutil.copyfile(ROOT / "notebooks" / "nbgrader" / CONFIG, out / CONFIG)
    return path


def _note_in_gradebook(course: Course, roster: Sequence[Person], out: Path) -> None:
    """Write the deadline and the members of the class into nbgrader's gradebook."""
    from nbgrader.api import Gradebook

    # It starts alembic, which lies beside the Python that runs this.
    here = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([here, os.environ.get("PATH", "")])
    with Gradebook(f"sqlite:///{(out / 'gradebook.db').resolve()}", "nopeek") as book:
        due = {"duedate": course.due} if course.due else {}
        book.update_or_create_assignment(course.name, **due)
        for one in (person for person in roster if not person.who.platform):
            book.update_or_create_student(one.id, last_name=one.who.name, email=one.who.email)


def _unknown_to_nbgrader(course: Course, roster: Sequence[Person]) -> list[str]:
    """Return a sentence on each rule that nbgrader has no setting for."""
    told = []
    if roster and all(person.who.platform for person in roster):
        told.append(
            "a platform's class list has no ids for nbgrader, so nobody was entered there: name a "
            "list of your own with `student_id`"
        )
    ids = {compose(person.id) for person in roster if not person.who.platform}
    names = [
        name  # which is not an id or, without a list of ids, looks like a name or an address
        for name in course.extensions
        if (compose(name) not in ids if ids else re.search(r"[\s,@]", name))
    ]
    if names:
        told.append(
            "nbgrader knows students by id only. Are these ids? "
            f"{one_line(', '.join(names), 200)}. If not, their extensions are not used"
        )
    if unused := [name for name in UNKNOWN if getattr(course, name)]:
        told.append(f"nbgrader does not know {', '.join(unused)}: the file's values are not used")
    return told
