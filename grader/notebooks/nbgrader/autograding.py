"""Autograde without running anything: an exporter and a preprocessor for nbgrader.

`nbgrader autograde` reads each submitted notebook twice: first to sanitize it, then to run and
score the result. The exporter has all new submissions judged before the first one is read. It
reads the submitted file in nbgrader's place, as `grade` does, and returns a notebook that is
written anew. The preprocessor replaces the one that would start a kernel. It writes the judge's
verdicts below the test cells, and nbgrader takes its scores from these.

Hidden inputs come from a secret, which is made once and stays in the course's folder.
"""

import glob
import logging
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat.v4 import new_output
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import rmtree
from sqlalchemy.exc import SAWarning
from traitlets import Enum, Integer

from grader.classroom import hidden_inputs, judge
from grader.engine.kit_digest import kit_digest
from grader.intake.filenames import module_name, step_meant
from grader.intake.folders_and_zips import File, Folder, Spot, Tree
from grader.intake.handins import read_tree
from grader.intake.notebooks import MAX_NOTEBOOK, RawCell, Room, raw_cells
from grader.intake.submission import Submission, SubmissionError, refusal
from grader.isolation import SandboxError
from grader.notebooks.cards import only
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
    output,
    rebuild,
)
from grader.report.problem import Problem, need_torch
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
NOT_OURS = "no check of the kit belongs to this cell; it is graded by hand"
SECRET_FILE = ".nopeek-secret"
MADE = "{} was made: it makes the hidden inputs, so keep it, and keep it to yourself."
DAMAGED = (
    "{} does not hold a secret that nopeek has written: restore it from a copy. Without it, a "
    "new secret is made, and what is graded from then on has other hidden inputs"
)
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


def read_secret(course: Path) -> tuple[bytes, str]:
    """Return the secret of the hidden inputs, and what the instructor should know of it.

    It is made once and stored in the course's folder. Raise Problem if it is damaged.
    """
    path, told = course / SECRET_FILE, ""
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w") as file:
            made = hidden_inputs.new_secret()
            file.write(f"{made.hex()} {hidden_inputs.prove(made)}\n")
        told = MADE.format(path)
    stored = re.fullmatch(r"([0-9a-f]{64}) (\S+)\s*", path.read_text("utf-8", errors="replace"))
    secret = bytes.fromhex(stored[1]) if stored else b""
    if not stored or hidden_inputs.prove(secret) != stored[2]:
        raise Problem(DAMAGED.format(path))
    return secret, told or hidden_inputs.find_open(path)


@dataclass(frozen=True)
class JudgedWork:
    """A submitted notebook as it was read, and the judge's result."""

    cells: Sequence[RawCell]
    submission: Submission
    outcome: judge.Outcome


def _grade(exam: judge.Exam, path: Path) -> JudgedWork:
    """Return a submitted notebook with the judge's result. Raise NotGradable if it has none."""
    registry = load()
    try:
        if not os.path.lexists(path):
            raise SubmissionError(f"no notebook is called {path.name}")
        with Folder.open(path.parent.parent) as above:
            folder, tree = above.into(path.parent.name), Tree()
            for name in folder.names()[1]:
                is_own = module_name([name], registry) and step_meant(name, registry) is None
                if is_own or name == path.name:
                    tree.add_file(File(Spot(folder), name), ())
            cells = list(raw_cells(folder.read(path.name, MAX_NOTEBOOK + 1), Room()))
            handed_in = read_tree(above.path.name, tree, registry)
    except SubmissionError as error:
        reason = str(error) if ".ipynb" in str(error) else refusal(path.name, error)
        raise NotGradable(reason) from None
    outcome = judge.grade_submission(exam, handed_in)
    if outcome.json is None:
        raise NotGradable(outcome.reason)
    return JudgedWork(cells, handed_in, outcome)


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
        self.last: dict[str, tuple[Report, Submission]] = {}  # by the student whom nbgrader grades
        self.log.addFilter(_shorten)
        # Of the order of entries: nbgrader adds them all in the end.
        warnings.filterwarnings("ignore", "Object of type .* not in session", SAWarning)
        try:
            self._get_ready()
            self._judge()
        except (Problem, SandboxError, KitError, OSError) as error:
            self.log.error("nopeek grades nothing: %s", error)
            raise NbGraderException(str(error)) from None

    def _get_ready(self) -> None:
        """Probe the isolation and prepare the exams, so that problems stop the class at once."""
        secret, told = read_secret(Path(self.course.root))
        if told:
            self.log.warning("%s", told)
        folder = Path(self._place(self.course.release_directory, "."))
        self.released = {
            path.stem: nbformat.read(path, as_version=4).cells
            for path in folder.glob(f"{self.course.notebook_id}.ipynb")
        }
        if not self.released:
            raise Problem(UNRELEASED.format(folder, self.course.assignment_id))
        need_torch()
        isolation = judge.probe_isolation(self.isolation)
        self.log.info("nopeek grades under %s", isolation)
        key = hidden_inputs.derive_key(secret, self.seed)
        for name, cells in self.released.items():
            tests = {grade_id_of(one).removeprefix(PREFIX) for one in cells if is_test(one)}
            steps = tuple(sorted({load().homes[test].id for test in tests & load().homes.keys()}))
            self.exams[name] = judge.Exam("hidden", self.seed, isolation, steps, kit_digest(), key)

    def _judge(self) -> None:
        """Judge the new submissions, several at once. Raise JudgeRefuses if that fails."""
        count = 1 + len(self.parent.assignments) // FOR_EACH
        with ThreadPoolExecutor(min(count, MOST, os.cpu_count() or 1)) as pool:
            try:
                for exam in self.exams.values():
                    pool.submit(judge.start, exam).result()  # before anything is removed
                for path in self._choose():
                    self.judged[path] = pool.submit(_grade, self.exams[path.stem], path)
                wait(self.judged.values())
            except KeyboardInterrupt:
                judge.stop()
                raise
            finally:
                judge.dismiss()

    def _choose(self) -> Iterator[Path]:
        """Leave to nbgrader the submissions that are new, and yield their notebooks."""
        course, given = self.course, self.parent.assignments
        for found in sorted(glob.glob(self._place(course.submitted_directory, course.student_id))):  # noqa: PTH207
            folder, student = Path(found), Path(found).parent.name
            paths = [folder / f"{name}.ipynb" for name in self.exams]
            paths = [path for path in paths if os.path.lexists(path)] or paths[:1]
            given.pop(found, None)
            if not is_id(student):
                self.log.error(UNSHOWN, one_line(student, 80), NO_ID)
            elif self._is_new(student, paths):
                given[found] = [str(path) for path in paths]
                yield from paths

    def _is_new(self, id: str, paths: Sequence[Path]) -> bool:
        """Return whether nbgrader is to grade these notebooks of one student.

        Earlier results are removed then, for nbgrader would pass over the submission.
        """
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
        return str(self.course.format_path(above, student, self.course.assignment_id))

    def from_filename(self, filename: str, resources: Any = None, **more: Any) -> Any:
        """Return the notebook in that file, rebuilt unless it already was."""
        path, names = Path(filename), resources["nbgrader"]
        student = names["student"]
        if path.parent == Path(self._place(self.course.autograded_directory, student)):
            self._copy_notes(Path(self._place(self.course.submitted_directory, student)), path)
            return super().from_filename(filename, resources=resources, **more)
        who = one_line(student, 80)
        try:
            work = self.judged.pop(path).result()
        except (NotGradable, judge.JudgeRefuses) as error:
            if isinstance(error, NotGradable):
                self._forget_scores(student)
            raise NotGradable(f"{who}: {str(error).rstrip('.')}.") from None
        report = work.outcome.report
        assert report is not None  # others are not gradable
        warn = partial(self.log.warning, "%s: %s", who)
        made = rebuild(work.cells, self.released[names["notebook"]], warn)
        for warning in work.submission.warnings:
            warn(warning)
        for step in report.steps:
            status = step.status.value.replace("_", " ")
            told = f"{step.step} {status}, {step.points:g} of {step.max_points:g} points"
            self.log.info("%s: %s", who, told)
        self.last = {student: (report, work.submission)}
        return self.from_notebook_node(made, resources=resources, **more)

    def _copy_notes(self, handed_in: Path, graded: Path) -> None:
        """Copy what nbgrader notes of an attempt: it compares times, and names feedback by both."""
        for name in (TIME, SECRET):
            data = read_note(handed_in, name)
            if data and (name != TIME or read_submitted_time(str(handed_in))):
                graded.with_name(name).write_bytes(data)

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


class Verdicts(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader has no types
    """Takes the place of `nbgrader.preprocessors.Execute`."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Write the judge's findings below the test cells, and run nothing."""
        report, handed_in = self.parent.last[resources["nbgrader"]["student"]]
        warnings = handed_in.warnings
        for cell in nb.cells:
            if is_test(cell):
                cell.outputs = [self._output(report, cell.metadata.nbgrader, warnings)]
                warnings = ()  # once is enough
        return nb, resources

    def _output(self, report: Report, cell: Any, warnings: tuple[str, ...]) -> Any:
        function = cell["grade_id"].removeprefix(PREFIX)
        for step in report.steps:
            verdict = replace(only(step, function), message=step.message)
            if verdict.checks and cell["grade_id"] != function:
                return output(verdict, float(cell["points"]), warnings)
        self.log.warning("%s is not a test cell of the kit: it earns nothing", cell["grade_id"])
        said = [f"NoVerdict: {NOT_OURS}"]
        return new_output("error", ename="NoVerdict", evalue=NOT_OURS, traceback=said)
