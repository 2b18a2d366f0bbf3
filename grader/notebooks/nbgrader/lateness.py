"""Apply the assignment file's late rules in nbgrader: grace, percent per day, extensions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Unicode

from grader.classroom.course import Course, CourseError, read_course
from grader.classroom.lateness import days_late, read_moment, share_left
from grader.classroom.marking import Rules
from grader.report.records import Graded, Who
from grader.steps.registry import load


def find_penalty(
    course: Course, student: str, score: float, seconds: float, class_: Sequence[Graded] = ()
) -> float:
    """Return the points to take off a score that was handed in so many seconds late.

    class_: everybody, so that an extension is for the student whom its name means, as in `grade`.
    """
    due, late = read_moment(course.due), course.late
    if due is None or late is None:
        return 0.0
    mine = next((one for one in class_ if one.student == student), Graded(student, None))
    rules = Rules(course).settle(class_ or [mine])
    own = map(read_moment, rules.list_extensions(mine))
    latest = max(filter(None, [due, *own]))
    days = days_late(due + timedelta(seconds=seconds), latest, late.grace_minutes, course.zone)
    return score * (100.0 - share_left(late, days)) / 100.0


def find_move(asked: datetime | None, course: Course) -> float:
    """Return by how many seconds the assignment file's deadline is later than nbgrader's.

    nbgrader counts from its own deadline, which is in UTC. The file's may have been moved since.
    """
    due = read_moment(course.due)
    if asked is None or due is None:
        return 0.0
    return (due - asked.replace(tzinfo=timezone.utc)).total_seconds()


class CourseLateness(LateSubmissionPlugin):  # type: ignore[misc]  # nbgrader has no types
    """Applies the assignment file's late penalty; without a file, there is none."""

    folder = Unicode("", help="Where the assignment files are, each `<assignment>.toml`.").tag(
        config=True
    )

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Return the points to take off; None if there is no rule."""
        path = Path(self.folder) / f"{self.parent.assignment_id}.toml"
        if not self.folder or not path.is_file():
            return None
        try:
            course = read_course(path, load())
        except CourseError as error:
            self.log.error("nothing is taken off for being late: %s", error)
            return None
        book = self.parent.gradebook
        asked = book.find_submission(self.parent.assignment_id, student_id).assignment.duedate
        moved = find_move(asked, course)
        class_ = [
            Graded(one.id, None, who=Who(name=_call(one), email=one.email or ""))
            for one in book.students
        ]
        return find_penalty(course, student_id, score, total_seconds_late - moved, class_)


def _call(student: Any) -> str:
    """Return the name of a student of nbgrader's database."""
    return " ".join(filter(None, (student.first_name, student.last_name)))
