"""Autograde without running anything: an exporter and a preprocessor for nbgrader.

`nbgrader autograde` reads each submitted notebook twice: first to sanitize it, then to run and
score the result. The exporter has all new submissions judged before the first one is read. It
reads the submitted file in nbgrader's place, as `grade` does, and returns a notebook that is
written anew. The preprocessor replaces the one that would start a kernel. It writes the judge's
verdicts below the test cells, and nbgrader takes its scores from these.
"""

import glob
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import rmtree
from sqlalchemy.exc import SAWarning
from traitlets import Enum, Integer

from grader.classroom import judge
from grader.intake.filenames import module_name, step_meant
from grader.intake.folders import Folder
from grader.intake.handins import read_tree
from grader.intake.notebooks import MAX_NOTEBOOK, RawCell, Room, raw_cells
from grader.intake.search import File, Spot, Tree
from grader.intake.submission import Submission, SubmissionError, refusal
from grader.isolation import SandboxError
from grader.notebooks.cards import only
from grader.notebooks.nbgrader import setting
from grader.notebooks.nbgrader.collecting import (
    NO_ID,
    SECRET,
    TIME,
    is_id,
    read_note,
    read_submitted_time,
)
from grader.notebooks.nbgrader.rebuilding import (
    PREFIX,
    grade_id_of,
    is_finished,
    is_test,
    no_verdict,
    output,
    rebuild,
)
from grader.report.names import show_name
from grader.report.problem import Problem
from grader.report.records import Report
from grader.report.sanitize import one_line
from grader.steps.registry import KitError, load

AGAIN = "%s was not graded to the end before, and is graded again."
STAYS = "%s is not graded again, because the earlier result cannot be removed: %s."
OLDER = (
    "%s has a newer notebook than the one that was graded, and no later time in timestamp.txt. It "
    "is not graded again: add --force."
)
UNSHOWN = "%s is not graded: rename the folder, because %s."
UNRELEASED = "there is no notebook in {}: run `nbgrader generate_assignment {}`"
REFUSALS = (Problem, SandboxError, KitError, OSError)
FOR_EACH = 25  # submissions that are worth the start of one more judge
MOST = 4  # judges


class NotGradable(Exception):
    """One submission cannot be graded; the text says why, and whose it is."""


def _shorten(record: logging.LogRecord) -> bool:
    """Keep only the last line of nopeek's tracebacks in nbgrader's log."""
    text = record.getMessage().strip()
    kind, _, said = text.rpartition("\n")[2].partition(": ")
    if text.startswith("Traceback") and kind == f"{__name__}.{NotGradable.__name__}":
        record.msg, record.args = "%s", (said,)
    elif text.startswith("Please see the the above traceback"):
        record.msg, record.args = "The messages above say what is wrong with each of them.", ()
    return True


@dataclass(frozen=True)
class JudgedWork:
    """A submitted notebook as it was read, and the judge's result."""

    cells: Sequence[RawCell]
    submission: Submission
    outcome: judge.Outcome


def _read(path: Path, student: str) -> tuple[list[RawCell], Submission]:
    """Return a submitted notebook's cells and judged source. Raise SubmissionError."""
    if not os.path.lexists(path):
        raise SubmissionError(f"no notebook is called {path.name}")
    registry = load()
    with Folder.open(path.parent.parent) as above:
        folder, tree = above.into(path.parent.name), Tree()
        for name in folder.names()[1]:
            is_own = module_name([name], registry) and step_meant(name, registry) is None
            if is_own or name == path.name:
                tree.add_file(File(Spot(folder), name), ())
        cells = list(raw_cells(folder.read(path.name, MAX_NOTEBOOK + 1), Room()))
        return cells, read_tree(student, tree, registry)


def _grade(exam: judge.Exam, path: Path, student: str) -> JudgedWork:
    cells, handed_in = _read(path, student)
    return JudgedWork(cells, handed_in, judge.grade_submission(exam, handed_in))


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
        self.course = self.parent.coursedir
        self.course.get_existing_timestamp = read_submitted_time
        # Beside the notebooks nbgrader copies nothing. It would follow links, and compare each file
        # with all others.
        self.course.ignore = ["*"]
        self.exams: dict[str, judge.Exam] = {}
        self.judged: dict[Path, Future[JudgedWork]] = {}
        self.names: dict[str, str] = {}  # nbgrader's, of the submission that it converts
        self.work = JudgedWork((), Submission("", {}), judge.Outcome(None, "", 0.0))
        self.log.addFilter(_shorten)
        # Of the order of entries: nbgrader adds them all in the end.
        warnings.filterwarnings("ignore", "Object of type .* not in session", SAWarning)
        try:
            self._get_ready()
            self._judge()
        except REFUSALS as error:
            self.log.error("nopeek grades nothing: %s", error)
            raise NbGraderException(str(error)) from None

    def _get_ready(self) -> None:
        """Probe the isolation and start a judge, so that problems stop the class at once."""
        secret, told = setting.read_secret(Path(self.course.root))
        if told:
            self.log.warning("%s", told)
        folder = Path(self._place(self.course.release_directory, "."))
        self.released = {
            path.stem: nbformat.read(path, as_version=4).cells
            for path in folder.glob(f"{self.course.notebook_id}.ipynb")
        }
        if not self.released:
            raise Problem(UNRELEASED.format(folder, self.course.assignment_id))
        for name, cells in self.released.items():
            tests = {grade_id_of(one).removeprefix(PREFIX) for one in cells if is_test(one)}
            self.exams[name] = setting.exam(self.isolation, secret, self.seed, tests)
            self.log.info("nopeek grades under %s", self.exams[name].isolation)

    def _judge(self) -> None:
        """Judge the new submissions, several at once. Raise JudgeRefuses if that fails."""
        count = 1 + len(self.parent.assignments) // FOR_EACH
        with ThreadPoolExecutor(min(count, MOST, os.cpu_count() or 1)) as pool:
            try:
                for exam in self.exams.values():
                    pool.submit(judge.start, exam).result()  # before anything is removed
                for path, student in self._choose():
                    exam = self.exams[path.stem]
                    self.judged[path] = pool.submit(_grade, exam, path, student)
                wait(self.judged.values())
            except KeyboardInterrupt:
                judge.stop()
                raise
            finally:
                judge.dismiss()

    def _choose(self) -> Iterator[tuple[Path, str]]:
        """Leave to nbgrader the submissions that are new; yield their notebooks and students."""
        course, given = self.course, self.parent.assignments
        for found in sorted(glob.glob(self._place(course.submitted_directory, course.student_id))):  # noqa: PTH207
            folder, student = Path(found), Path(found).parent.name
            paths = [folder / f"{name}.ipynb" for name in self.exams]
            paths = [path for path in paths if os.path.lexists(path)] or paths[:1]
            given.pop(found, None)
            if not is_id(student):
                self.log.error(UNSHOWN, show_name(student), NO_ID)
            elif self._is_new(paths):
                given[found] = [str(path) for path in paths]
                yield from ((path, student) for path in paths)

    def _is_new(self, paths: Sequence[Path]) -> bool:
        """Return whether nbgrader is to grade notebooks of one submission.

        Earlier results are removed then, for nbgrader would pass over the submission.
        """
        id = paths[0].parent.parent.name
        there, student = Path(self._place(self.course.autograded_directory, id)), one_line(id, 80)
        graded = [there / path.name for path in paths]
        try:
            if there.is_dir() and not all(map(is_finished, graded)):
                self.log.warning(AGAIN, student)
                rmtree(there)
            self.parent.notebooks = [*map(str, paths)]
            if self.parent.init_destination(self.course.assignment_id, id):
                return True
        except OSError as error:  # another instructor's folder, or a link
            self.log.error(STAYS, student, error.strerror or error)
            return False
        with suppress(OSError):  # not the time of its last change, which a copy may keep
            if any(a.stat().st_ctime > b.stat().st_mtime for a, b in zip(paths, graded)):
                self.log.warning(OLDER, student)
        return False

    def _place(self, above: str, student: str) -> str:
        place: str = self.course.format_path(above, student, self.course.assignment_id)
        return place

    def from_filename(self, filename: str, resources: Any = None, **more: Any) -> tuple[Any, Any]:
        """Return the notebook in that file, rebuilt unless it already was."""
        names, path = resources["nbgrader"], Path(filename)
        if path.parent == Path(self._place(self.course.autograded_directory, names["student"])):
            read: tuple[Any, Any] = super().from_filename(filename, resources=resources, **more)
            return read
        self.names, self.work = dict(names), self._take(path, names["student"])
        made = rebuild(self.work.cells, self.released[names["notebook"]], self._warn)
        exported: tuple[Any, Any] = self.from_notebook_node(made, resources=resources, **more)
        return exported

    def _take(self, path: Path, student: str) -> JudgedWork:
        """Return a submission with the judge's result. Raise NotGradable if there is none."""
        try:
            found = self.judged.pop(path).result()
            if found.outcome.report is not None:
                return found
            reason = found.outcome.reason
        except SubmissionError as error:
            reason = str(error if ".ipynb" in str(error) else refusal(path.name, error))
        except judge.JudgeRefuses as error:
            raise NotGradable(f"{one_line(student, 80)}: {error}.") from None
        self._forget_scores(student)
        raise NotGradable(f"{one_line(student, 80)}: {reason.rstrip('.')}.")

    def _forget_scores(self, student: str) -> None:
        """Take back what an earlier attempt has earned, because the latest one cannot be graded.

        Scores by hand stay, and ask for a look.
        """
        course = self.course
        with Gradebook(course.db_url, course.course_id) as book, suppress(MissingEntry):
            for notebook in book.find_submission(course.assignment_id, student).notebooks:
                notebook.late_submission_penalty = None
                for grade in notebook.grades:
                    grade.auto_score, grade.needs_manual_grade = None, True
            book.db.commit()

    def _warn(self, text: str) -> None:
        self.log.warning("%s: %s", one_line(self.work.submission.id, 80), text)

    def keep_notes(self) -> None:
        """Copy what nbgrader notes of an attempt: it compares times, and names feedback by both."""
        places = self.course.submitted_directory, self.course.autograded_directory
        old, new = (Path(self._place(place, self.names["student"])) for place in places)
        for name in (TIME, SECRET):
            data = read_note(old, name)
            if data and (name != TIME or self.course.get_existing_timestamp(str(old))):
                (new / name).write_bytes(data)


class Verdicts(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader has no types
    """Takes the place of `nbgrader.preprocessors.Execute`."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Write the judge's findings below the test cells, and run nothing."""
        handed_in, report = self.parent.work.submission, self.parent.work.outcome.report
        if report is None or self.parent.names != resources["nbgrader"]:
            raise NotGradable("nbgrader asks for another submission than it has read.")
        warnings = handed_in.warnings
        for cell in nb.cells:
            if is_test(cell):
                cell.outputs = [self._output(report, cell.metadata.nbgrader, warnings)]
                warnings = ()  # once is enough
        self._tell(report, handed_in)
        self.parent.keep_notes()
        return nb, resources

    def _output(self, report: Report, cell: Any, warnings: tuple[str, ...]) -> Any:
        function = cell["grade_id"].removeprefix(PREFIX)
        for step in report.steps:
            verdict = replace(only(step, function), message=step.message)
            if verdict.checks and cell["grade_id"] != function:
                return output(verdict, float(cell["points"]), warnings)
        self.log.warning("%s is not a test cell of the kit: it earns nothing", cell["grade_id"])
        return no_verdict("no check of the kit belongs to this cell; it is graded by hand")

    def _tell(self, report: Report, handed_in: Submission) -> None:
        who = one_line(handed_in.id, 80)
        for warning in handed_in.warnings:
            self.log.warning("%s: %s", who, warning)
        for step in report.steps:
            points = f"{step.points:g} of {step.max_points:g} points"
            status = step.status.value.replace("_", " ")
            self.log.info("%s: %s %s, %s", who, step.step, status, points)
