"""Write a class's results as CSV: grades.csv, changes.csv, and the columns of nbgrader's export."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from grader.classroom.exports.cells import number, protect_cell, row
from grader.classroom.people import Owners, resolve
from grader.report.records import Change, Graded

CHANGES = ("student_id", "before", "after", "because", "checks")
MOST = 3  # checks in a cell; the student's page has all of them
COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


@dataclass(frozen=True)
class Options:
    """Options that some formats need.

    steps: the ids of the graded steps, in order. column, feedback_column: headers of the
    instructor's own file. environment: variables that a platform sets. graded_at: ISO 8601.
    overwrite: replace the grades and comments that are in the instructor's file. answer: whose each
    work is.
    """

    steps: tuple[str, ...] = ()
    assignment: str = "nopeek"
    due: str = ""
    column: str = ""
    feedback_column: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    graded_at: str = ""
    overwrite: bool = False
    answer: Owners = field(default_factory=lambda: resolve([]))


def points_of_steps(graded: Graded) -> dict[str, float]:
    """Return the points of each step with changes by hand; of an excused or unread one none."""
    if graded.excused:
        return {}
    if graded.grade and graded.grade.steps:
        return dict(graded.grade.steps)
    return {step.step: step.points for step in graded.steps if step.gradable}


def header(steps: tuple[str, ...]) -> str:
    """Return the first line of grades.csv, which has a column for each step."""
    about = ("note", "state", "name", "number", "email")
    return row(["student_id", "score", "max_score", *steps, *about])


def line(graded: Graded, steps: tuple[str, ...]) -> str:
    """Return a student's line; for one who is not gradable, a note and empty scores."""
    points, grade, who = points_of_steps(graded), graded.grade, graded.who
    notes = " ".join(filter(None, [graded.reason, *graded.notes]))
    most = graded.max_score if graded.score is not None else None
    scores = [graded.score, most, *(points.get(step) for step in steps)]
    late = grade.late if grade else "late" if who.late else ""
    state = "excused" if graded.excused else "nothing handed in" if who.absent else late
    texts = (notes, state, who.name, who.number, who.email)
    return row([protect_cell(graded.student), *map(number, scores), *map(protect_cell, texts)])


def grades(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """Yield the file, one line at a time."""
    yield header(options.steps)
    for graded in class_:
        yield line(graded, options.steps)


def excel(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """Yield the same with a byte order mark, which tells Excel that it is UTF-8."""
    yield "\ufeff"
    yield from grades(class_, options)


def nbgrader(class_: Iterable[Graded], options: Options) -> Iterator[str]:
    """Yield the file of `nbgrader export`. Dates and first names are not known here."""
    yield row(COLUMNS)
    for graded in class_:
        score, grade = graded.score, graded.grade
        most = number(graded.max_score if score is not None else None)
        raw = score if grade is None or grade.raw is None else grade.raw
        penalty = "" if score is None else number((raw or 0.0) - score)
        times = (options.assignment, options.due, graded.who.submitted)
        who = (*times, graded.student, graded.who.name, "", graded.who.email)
        yield row([*map(protect_cell, who), number(raw), penalty, number(score), most])


def list_moves(change: Change) -> list[str]:
    """Return `scores_agree: failed -> passed` for every check that ended differently."""
    before, after = (
        {check.check: check.status.value for step in graded.steps for check in step.checks}
        for graded in (change.before, change.after)
    )
    return [
        f"{check}: {before.get(check, 'absent')} -> {after.get(check, 'absent')}"
        for check in {**before, **after}
        if before.get(check) != after.get(check)
    ]


def changes(found: Iterable[Change]) -> Iterator[str]:
    """Yield changes.csv: whose result has changed, why, and in which checks."""
    yield row(CHANGES)
    for change in found:
        scores = [number(graded.score) for graded in (change.before, change.after)]
        moves = list_moves(change)
        more = [f"and {len(moves) - MOST} more"] if len(moves) > MOST else []
        texts = (change.because, "; ".join([*moves[:MOST], *more]))
        yield row([protect_cell(change.student), *scores, *map(protect_cell, texts)])
