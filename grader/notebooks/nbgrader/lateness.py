"""Apply the assignment file's late rules in nbgrader: grace, percent per day, extensions."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Unicode

from grader.classroom.course import Course, read_course
from grader.classroom.lateness import find_lateness
from grader.classroom.marking import Rules
from grader.report.problem import CourseError
from grader.report.records import Graded, Who
from grader.steps.registry import load


def find_penalty(
    course: Course, student: str, score: float, when: datetime, class_: Sequence[Graded]
) -> float:
    """Return the points to take off a score that was handed in then.

    class_: everybody, so that an extension is for the student whom its name means, as in `grade`.
    """
    (mine,) = (one for one in class_ if one.student == student)
    who = replace(mine.who, submitted=when.isoformat())
    extensions = Rules(course).settle(class_).extensions[student]
    return score * (100.0 - find_lateness(course, who, extensions).left) / 100.0


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
        book = self.parent.gradebook
        when = book.find_submission(self.parent.assignment_id, student_id).timestamp
        if not self.folder or not path.is_file() or when is None:
            return None
        try:
            course = read_course(path, load())
        except CourseError as error:
            self.log.error("nothing is taken off for being late: %s", error)
            return None
        class_ = []
        for one in book.students:
            name = " ".join(filter(None, (one.first_name, one.last_name)))
            class_.append(Graded(one.id, None, who=Who(name=name, email=one.email or "")))
        return find_penalty(course, student_id, score, when.replace(tzinfo=timezone.utc), class_)
