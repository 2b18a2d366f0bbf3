"""Export a class's results for other programs: one module per format, listed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from grader.classroom.exports.gradebooks import LAYOUTS, into_gradebook
from grader.classroom.exports.grades import excel, grades, nbgrader
from grader.classroom.exports.junit import junit
from grader.classroom.exports.options import ExportError, Merged, Options
from grader.classroom.exports.results import classroom50, gradescope, prairielearn
from grader.classroom.exports.returning import canvas_feedback, mail, moodle_feedback
from grader.report.records import Graded

__all__ = ["Each", "ExportError", "FORMATS", "Into", "Merged", "One", "Options", "Zip"]


@dataclass(frozen=True)
class Each:
    """A JSON file for each student; None if the format cannot express a missing score."""

    write: Callable[[Graded, Options], str | None]


@dataclass(frozen=True)
class One:
    """One file of that name for the class, in pieces."""

    file: str
    write: Callable[[Iterable[Graded], Options], Iterator[str]]


@dataclass(frozen=True)
class Into:
    """The instructor's own file, with scores merged into it."""

    write: Callable[[str, Iterable[Graded], Options], Merged]


@dataclass(frozen=True)
class Zip:
    """One zip for the class: its files by name, made from each student's page."""

    file: str
    write: Callable[[Iterable[Graded], Options], Iterator[tuple[str, bytes]]]


def _name(platform: str) -> str:
    """Return the format of a platform's table. That of Gradescope's autograder has its name."""
    return "gradescope-csv" if platform == "Gradescope" else platform.lower()


FORMATS: dict[str, Each | One | Into | Zip] = {
    "csv": One("grades.csv", grades),
    "gradescope": Each(gradescope),
    **{_name(one.platform): Into(partial(into_gradebook, one.platform)) for one in LAYOUTS},
    "nbgrader": One("nbgrader.csv", nbgrader),
    "classroom50": Each(classroom50),
    "junit": One("junit.xml", junit),
    "prairielearn": Each(prairielearn),
    "mail": One("mail.csv", mail),
    "excel": One("grades-excel.csv", excel),
    "moodle-feedback": Zip("moodle-feedback.zip", moodle_feedback),
    "canvas-feedback": Zip("canvas-feedback.zip", canvas_feedback),
}
