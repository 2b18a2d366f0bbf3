"""Autograde without running anything: an exporter and a preprocessor for nbgrader.

`nbgrader autograde` reads each submitted notebook twice: first to sanitize it, then to run and
score the result. The exporter reads the submitted file in nbgrader's place, as `grade` does, and
returns a notebook that is written anew. The preprocessor replaces the one that would start a
kernel. It has the sources judged and writes verdicts below the test cells, and nbgrader takes its
scores from these. Meanwhile, the next submissions are judged.
"""

from __future__ import annotations

import errno
import glob
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution, rmtree
from sqlalchemy.exc import OperationalError
from traitlets import Enum, Integer

from grader.classroom import judge
from grader.intake.filenames import module_name, step_meant
from grader.intake.folders import Folder, Some
from grader.intake.handins import submission
from grader.intake.ipynb import MAX_NOTEBOOK, RawCell, raw_cells
from grader.intake.submission import Submission, SubmissionError, refusal
from grader.isolation import SandboxError
from grader.notebooks.nbgrader import setting
from grader.notebooks.nbgrader.books import forget_scores, open_once
from grader.notebooks.nbgrader.collecting import MARKUP, is_shown, without_links
from grader.notebooks.nbgrader.judging_ahead import Ahead, Reading
from grader.notebooks.nbgrader.rebuilding import StoredCell, rebuild
from grader.notebooks.nbgrader.verdicts import (
    PREFIX,
    find_verdicts,
    is_finished,
    no_verdict,
    output,
)
from grader.report.names import show_name
from grader.report.problem import Problem
from grader.report.records import Report
from grader.report.sanitize import one_line
from grader.steps.registry import KitError, load

# Copying a student's files may raise these because of the files, and others because of the disk.
OWN_ERRORS = {None, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR}
AGAIN = "%s was not graded to the end before, and is graded again."
STAYS = "%s was not graded to the end before, and its folder cannot be removed: %s."
OLDER = (
    "%s has a newer notebook than the one that was graded, and no later time in timestamp.txt. It "
    "is not graded again: add --force."
)
UNSHOWN = "%s is not graded: rename the folder, without line ends and any of %s."
OUTDATED = (
    "nbgrader's database cannot be read. If it is of an earlier nbgrader, make a copy of it and "
    "run `nbgrader db upgrade`"
)
REFUSALS = (Problem, SandboxError, KitError, judge.JudgeRefuses, setting.SecretError, OSError)


class NotGradable(Exception):
    """One submission cannot be graded; the text says why, and whose it is."""


class _OneSentence(logging.Filter):
    """A log filter that keeps only the last line of nopeek's tracebacks in nbgrader.

    Then nbgrader's final message does not send anyone to look for a traceback.
    """

    MARK = f"{__name__}.NotGradable: "
    LAST = "Please see the the above traceback"
    ASKS = "No notebooks found, did you forget"  # of a student whose notebook has another name

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if text.startswith(self.ASKS):
            return False
        if self.MARK in text:
            record.msg, record.args = text.rpartition(self.MARK)[2].strip(), ()
        elif text.startswith(self.LAST):
            record.msg, record.args = "The messages above say what is wrong with each of them.", ()
        return True


def _read_known(gradebook: Any, notebook: str, assignment: str) -> dict[str, StoredCell]:
    """Return the cells of a notebook that nbgrader knows, in order."""
    found = gradebook.find_notebook(notebook, assignment)
    solutions = {cell.name for cell in found.solution_cells}
    worth = {cell.name: cell.max_score for cell in (*found.grade_cells, *found.task_cells)}
    graded = {cell.name for cell in found.grade_cells}
    known = {}
    for cell in found.source_cells:
        metadata = {
            "schema_version": 3,
            "grade_id": cell.name,
            "grade": cell.name in graded,
            "solution": cell.name in solutions,
            "task": cell.name in worth and cell.name not in graded,
            "locked": cell.locked,
            "cell_type": cell.cell_type,
            "checksum": cell.checksum,
        }
        if cell.name in worth:
            metadata["points"] = worth[cell.name]
        is_code = cell.cell_type == "code"
        known[cell.name] = StoredCell(cell.name, is_code, cell.locked, cell.source, metadata)
    return known


def _functions(known: Mapping[str, StoredCell]) -> list[str]:
    """Return the functions that the test cells test."""
    names = [name for name, cell in known.items() if cell.nbgrader["grade"] and cell.locked]
    return [name.removeprefix(PREFIX) for name in names]


def _read(path: Path, student: str) -> tuple[list[RawCell], Submission]:
    """Return a submitted notebook's cells and judged source, or the SubmissionError."""
    with Folder.open(path.parent.parent) as above:
        folder = above.into(path.parent.name)
        registry = load()
        own = [name for name in folder.files() if module_name([name], registry)]
        modules = {name: name for name in own if step_meant(name, registry) is None}
        place = Some(folder, {**modules, path.name: path.name})
        cells = list(raw_cells(place.read(path.name, MAX_NOTEBOOK + 1)))
        return cells, submission(student, place, registry)


_ahead = Ahead()


class Nopeek(NotebookExporter):  # type: ignore[misc]  # nbconvert has no types
    """Reads submitted notebooks for nbgrader, and all other files as nbgrader would."""

    isolation = Enum(
        ("auto", "bubblewrap", "process+", "process"),
        default_value="auto",
        help="The isolation of submissions; auto is bubblewrap, and grading stops if it fails.",
    ).tag(config=True)
    seed = Integer(
        1, help="Number of the round; the next one gives new hidden inputs to what is graded then."
    ).tag(config=True)

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        _ahead.warm_up()
        self.course = self.parent.coursedir
        self.released: dict[tuple[str, str], tuple[dict[str, StoredCell], set[str]]] = {}
        self.exams: dict[str, judge.Exam] = {}
        self.names: Mapping[str, str] = {}
        self.path = Path()
        self.submission = Submission("", {})
        self.exam = judge.Exam("hidden", 0, "", (), "")
        if not any(isinstance(one, _OneSentence) for one in self.log.filters):
            self.log.addFilter(_OneSentence())
        try:
            self._get_ready()
        except REFUSALS as error:
            self.log.error("nopeek grades nothing: %s", error)
            raise NbGraderException(str(error)) from None
        except OperationalError:
            self.log.error("nopeek grades nothing: %s", OUTDATED)
            raise NbGraderException(OUTDATED) from None
        self._go_along()

    def _get_ready(self) -> None:
        """Probe the isolation and start a judge, so that problems stop the class at once."""
        self.secret, told = setting.read_secret(Path(self.course.root))
        if told:
            self.log.warning("%s", told)
        with Gradebook(self.course.db_url, self.course.course_id) as gradebook:
            try:
                notebooks = gradebook.find_assignment(self.course.assignment_id).notebooks
                names = [notebook.name for notebook in notebooks]
            except MissingEntry:
                names = []  # nbgrader itself will say so
            for name in names:
                known = _read_known(gradebook, name, self.course.assignment_id)
                self.exams[name] = self._exam_on(known)
                _ahead.start(self.exam)
        self.log.info("nopeek grades under %s", self.exam.isolation)

    def _go_along(self) -> None:
        """Judge the whole class while nbgrader converts notebooks, with its database open."""
        convert, begin = self.parent.convert_notebooks, self.parent.init_assignment

        def beginning(assignment: str, student: str) -> None:
            try:
                begin(assignment, student)
            except (NbGraderException, RecursionError, ValueError, OSError) as error:
                if not self.exams or getattr(error, "errno", None) not in OWN_ERRORS:
                    raise  # nbgrader has said what is missing, or the disk is full or fails
                self.forget(student)
                raise NotGradable(f"{one_line(student, 80)}: {self._why_not_begun()}.") from None

        def converting() -> None:
            with without_links():  # a note on the time may be anything
                self.parent.assignments = dict(self._find_own())
            for folder, notebooks in self.parent.assignments.items():
                try:
                    self._drop_unfinished(Path(folder), notebooks)
                except OSError as error:  # another instructor's folder, or a link
                    student = one_line(Path(folder).parent.name, 80)
                    self.log.error(STAYS, student, error.strerror or error)
                with without_links():
                    self._tell_of_older(Path(folder), notebooks)
            with open_once(), without_links():
                _ahead.begin(self._to_come())
                try:
                    convert()
                finally:
                    _ahead.drop()

        # nbgrader has no hook for a whole run, and none for a submission that fails.
        self.parent.convert_notebooks, self.parent.init_assignment = converting, beginning

    def _why_not_begun(self) -> str:
        """Return why nbgrader could not even begin with a submission."""
        if self.parent.notebooks:
            return "its files cannot be copied beside those of the course"
        return f"no notebook is called {' or '.join(f'{name}.ipynb' for name in self.exams)}"

    def _drop_unfinished(self, folder: Path, notebooks: Sequence[str]) -> None:
        """Remove what a run that was killed has left of a submission.

        nbgrader would pass over it, and its student would never get a score.
        """
        course, student = self.course, folder.parent.name
        there = Path(course.format_path(course.autograded_directory, student, folder.name))
        found = [there / Path(one).name for one in notebooks if Path(one).stem in self.exams]
        unfinished = [one for one in found if not is_finished(one)]
        if not unfinished or not there.is_dir() or student in course.student_id_exclude.split(","):
            return
        if course.notebook_id == "*":
            rmtree(there)
        elif not any(one.exists() for one in unfinished):
            return  # another notebook of it was graded
        else:
            for one in unfinished:
                one.unlink(missing_ok=True)
        self.log.warning(AGAIN, one_line(student, 80))

    def _tell_of_older(self, folder: Path, notebooks: Sequence[str]) -> None:
        """Warn if nbgrader will pass over an attempt that came after the one that was graded.

        It goes by timestamp.txt alone, which work from elsewhere than its exchange does not have.
        """
        course, student = self.course, folder.parent.name
        there = Path(course.format_path(course.autograded_directory, student, folder.name))
        if self.parent.force or not there.is_dir() or self._is_newer(str(folder), student):
            return
        with suppress(OSError):
            for one in map(Path, notebooks):
                graded = there / one.name
                # Not the time of its last change, which a copy may keep.
                if graded.is_file() and one.stat().st_ctime > graded.stat().st_mtime:
                    self.log.warning(OLDER, one_line(student, 80))

    def _find_own(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the folder of each submission, with its own notebooks.

        nbgrader takes some characters of a folder's name as a pattern, and so grades others'
        notebooks in its place. It ends for everybody where a name has a line end, and its pages
        run scripts in a name.
        """
        course = self.course
        wanted = course.submitted_directory, course.student_id, course.assignment_id
        for folder in glob.glob(course.format_path(*wanted)):  # noqa: PTH207  # as nbgrader
            student = Path(folder).parent.name
            pattern = str(Path(glob.escape(folder), f"{course.notebook_id}.ipynb"))
            if not is_shown(student):
                self.log.error(UNSHOWN, show_name(student), " ".join(MARKUP))
            elif found := [one for one in glob.glob(pattern) if Path(one).name.isprintable()]:  # noqa: PTH207
                yield folder, found
            elif self._is_newer(folder, student):
                self.forget(student)
                self.log.error("%s is not graded: there is no notebook.", show_name(student))

    def _is_newer(self, folder: str, student: str) -> bool:
        """Return whether a submission takes the place of one that was graded."""
        course = self.course
        graded = course.format_path(course.autograded_directory, student, course.assignment_id)
        new, old = map(course.get_existing_timestamp, (folder, graded))
        return new is not None and old is not None and new > old

    def forget(self, student: str) -> None:
        """Take back what an earlier attempt of a student has earned."""
        course = self.course
        forget_scores(course.db_url, course.course_id, course.assignment_id, student)

    def _to_come(self) -> dict[Path, Reading]:
        """Return the new submissions that nbgrader has found, in order, and how to read them."""
        readings = {}
        for folder in sorted(self.parent.assignments):
            for filename in sorted(self.parent.assignments[folder]):
                names = self.parent.init_single_notebook_resources(filename)["nbgrader"]
                if names["notebook"] in self.exams and not self._is_passed_over(names):
                    readings[Path(filename)] = self._reading(Path(filename), names)
        return readings

    def _is_passed_over(self, names: Mapping[str, str]) -> bool:
        """Return whether nbgrader will skip this submission, as far as nopeek can tell."""
        excluded = names["student"] in self.course.student_id_exclude.split(",")
        return excluded or (self._find_graded_at(names).exists() and not self.parent.force)

    def _find_graded_at(self, names: Mapping[str, str]) -> Path:
        there = self.course.autograded_directory
        return Path(self.course.format_path(there, names["student"], names["assignment"]))

    def _reading(self, path: Path, names: Mapping[str, str]) -> Reading:
        exam, student = self.exams[names["notebook"]], names["student"]
        return lambda: (exam, _read(path, student)[1])

    def _exam_on(self, known: Mapping[str, StoredCell]) -> judge.Exam:
        steps = setting.steps_with(_functions(known), load())
        self.exam = setting.exam(self.isolation, self.secret, self.seed, steps)
        return self.exam

    def from_filename(self, filename: str, resources: Any = None, **more: Any) -> tuple[Any, Any]:
        """Return the notebook in that file, rebuilt unless it already was."""
        names = resources["nbgrader"]
        if Path(filename).parent == self._find_graded_at(names) and self.names == names:
            read: tuple[Any, Any] = super().from_filename(filename, resources=resources, **more)
            return read
        try:
            notebook = self._read_submitted(Path(filename), names)
        except SubmissionError as error:
            self.forget(names["student"])
            reason = refusal(Path(filename).name, error) if ".ipynb" not in str(error) else error
            raise NotGradable(f"{one_line(names['student'], 80)}: {reason}") from None
        made: tuple[Any, Any] = self.from_notebook_node(notebook, resources=resources, **more)
        return made

    def _read_submitted(self, path: Path, names: Mapping[str, str]) -> Any:
        """Return a student's submission, without the cells that students may not change."""
        known, lessons = self._read_released(names)
        self._exam_on(known)
        cells, self.submission = _read(path, names["student"])
        self.names, self.path = dict(names), path
        return rebuild(cells, known, lessons, self._warn)

    def _read_released(self, names: Mapping[str, str]) -> tuple[dict[str, StoredCell], set[str]]:
        """Return the cells of a notebook that nbgrader knows, and its lessons; looked up once."""
        key = names["assignment"], names["notebook"]
        if key not in self.released:
            with Gradebook(names["db_url"]) as gradebook:
                known = _read_known(gradebook, names["notebook"], names["assignment"])
            self.released[key] = known, self._lessons(names)
        return self.released[key]

    def _warn(self, text: str) -> None:
        self.log.warning("%s: %s", one_line(self.submission.id, 80), text)

    def _lessons(self, names: Mapping[str, str]) -> set[str]:
        """Return the texts of the course's own notebook, if it exists."""
        folder = self.course.format_path(self.course.source_directory, ".", names["assignment"])
        path = Path(folder) / f"{names['notebook']}.ipynb"
        if not path.is_file():
            return set()
        return {cell.source for cell in nbformat.read(path, as_version=4).cells}


_closing = setting.Closing()


class Verdicts(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader has no types
    """Takes the place of `nbgrader.preprocessors.Execute`."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Write the judge's findings below the test cells, and run nothing."""
        handed_in = self.parent.submission
        if self.parent.names != resources["nbgrader"]:
            raise NotGradable("nbgrader asks for another submission than it has read.")
        report = self._report(handed_in)
        warnings = handed_in.warnings
        for cell in nb.cells:
            if is_grade(cell) and not is_solution(cell):
                cell.outputs = [self._output(report, cell.metadata.nbgrader, warnings)]
                warnings = ()  # once is enough
        self._tell(report, handed_in)
        return nb, resources

    def _report(self, handed_in: Submission) -> Report:
        """Return the judge's result for a submission.

        Raise NotGradable, with the reason, if there is none.
        """
        try:
            outcome = _ahead.outcome(self.parent.path, self.parent.exam, handed_in)
        except judge.JudgeRefuses as error:
            raise NotGradable(f"{one_line(handed_in.id, 80)}: {error}.") from None
        _closing.later()
        report = outcome.report
        if report is None:
            self.parent.forget(handed_in.id)
            raise NotGradable(f"{one_line(handed_in.id, 80)}: {outcome.reason}")
        return report

    def _output(self, report: Report, cell: Any, warnings: tuple[str, ...]) -> Any:
        name = cell["grade_id"]
        found = (
            find_verdicts(report, name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
        )
        if found is None:
            self.log.warning("%s is not a test cell of the kit: it earns nothing", name)
            return no_verdict("no check of the kit belongs to this cell; it is graded by hand")
        return output(found, float(cell["points"]), warnings)

    def _tell(self, report: Report, handed_in: Submission) -> None:
        who = one_line(handed_in.id, 80)
        for warning in handed_in.warnings:
            self.log.warning("%s: %s", who, warning)
        for step in report.steps:
            points = f"{step.points:g} of {step.max_points:g} points"
            status = step.status.value.replace("_", " ")
            self.log.info("%s: %s %s, %s", who, step.step, status, points)
