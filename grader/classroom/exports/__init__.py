"""Export a class's results for other programs, in the formats that are listed here."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from grader.classroom.exports.gradebooks import LAYOUTS, Merged, into_gradebook
from grader.classroom.exports.grades import Options, excel, grades, nbgrader
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


# Gradescope's autograder has the name of its platform.
_TABLES = {one.platform: one.platform.lower() for one in LAYOUTS} | {"Gradescope": "gradescope-csv"}
FORMATS = {
    "csv": Format(ONE, grades, "grades.csv"),
    "gradescope": Format(EACH, gradescope),
    **{name: Format(INTO, partial(into_gradebook, one)) for one, name in _TABLES.items()},
    "nbgrader": Format(ONE, nbgrader, "nbgrader.csv"),
    "classroom50": Format(EACH, classroom50),
    "junit": Format(ONE, junit, "junit.xml"),
    "prairielearn": Format(EACH, prairielearn),
    "mail": Format(ONE, mail, "mail.csv"),
    "excel": Format(ONE, excel, "grades-excel.csv"),
    "moodle-feedback": Format(ZIP, moodle_feedback, "moodle-feedback.zip"),
    "canvas-feedback": Format(ZIP, canvas_feedback, "canvas-feedback.zip"),
}
