"""Apply the assignment file's late rules in nbgrader: grace, percent per day, extensions."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Unicode

from grader.classroom.course import Course, read_course
from grader.classroom.lateness import find_lateness
from grader.classroom.marking import Rules
from grader.report.problem import CourseError
from grader.report.records import Graded, Who
from grader.steps.registry import load


def find_penalty(
    course: Course, student: str, score: float, when: datetime, class_: Sequence[Graded] = ()
) -> float:
    """Return the points to take off a score that was handed in then.

    class_: everybody, so that an extension is for the student whom its name means, as in `grade`.
    """
    mine = next((one for one in class_ if one.student == student), Graded(student, None))
    rules = Rules(course).settle(class_ or [mine])
    who = replace(mine.who, submitted=when.isoformat())
    left = find_lateness(course, who, rules.extensions[student]).left
    return score * (100.0 - left) / 100.0


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
        when = book.find_submission(self.parent.assignment_id, student_id).timestamp
        if when is None:
            return None
        class_ = [
            Graded(one.id, None, who=Who(name=_call(one), email=one.email or ""))
            for one in book.students
        ]
        return find_penalty(course, student_id, score, when.replace(tzinfo=timezone.utc), class_)


def _call(student: Any) -> str:
    """Return the name of a student of nbgrader's database."""
    return " ".join(filter(None, (student.first_name, student.last_name)))
