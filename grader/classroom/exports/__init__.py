"""Export a class's results for other programs, in the formats that are listed here."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from grader.classroom.exports.gradebooks import LAYOUTS
from grader.classroom.exports.grades import excel, grades, nbgrader
from grader.classroom.exports.merging import Merged, into_gradebook
from grader.classroom.exports.options import Options
from grader.classroom.exports.results import classroom50, gradescope, junit, prairielearn
from grader.classroom.exports.returning import canvas_feedback, mail, moodle_feedback

__all__ = ["EACH", "FORMATS", "Format", "INTO", "Merged", "ONE", "Options", "ZIP"]
EACH, ONE, INTO, ZIP = "each", "one", "into", "zip"


@dataclass(frozen=True)
class Format:
    """A format, and the function that writes it.

    kind: EACH student has a JSON file, or None if the format cannot express a missing score; ONE
    file is for the class, in pieces; scores go INTO the instructor's own file; or a ZIP has files
    by name. file: the name of what is written for the class.
    """

    kind: str
    write: Callable[..., Any]
    file: str = ""


def _name(platform: str) -> str:
    """Return the format of a platform's table. That of Gradescope's autograder has its name."""
    return "gradescope-csv" if platform == "Gradescope" else platform.lower()


FORMATS = {
    "csv": Format(ONE, grades, "grades.csv"),
    "gradescope": Format(EACH, gradescope),
    **{_name(x.platform): Format(INTO, partial(into_gradebook, x.platform)) for x in LAYOUTS},
    "nbgrader": Format(ONE, nbgrader, "nbgrader.csv"),
    "classroom50": Format(EACH, classroom50),
    "junit": Format(ONE, junit, "junit.xml"),
    "prairielearn": Format(EACH, prairielearn),
    "mail": Format(ONE, mail, "mail.csv"),
    "excel": Format(ONE, excel, "grades-excel.csv"),
    "moodle-feedback": Format(ZIP, moodle_feedback, "moodle-feedback.zip"),
    "canvas-feedback": Format(ZIP, canvas_feedback, "canvas-feedback.zip"),
}
