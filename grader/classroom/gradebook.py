"""Keep the gradebook of a class: one SQLite file that survives being killed at any moment.

A result is stored under everything that it depends on: the sources, the kit, the suite, the round
and the isolation. So nothing is graded twice, for any student and however often grading is started,
and a changed kit grades anew. A run marks which result each student has. The marks of earlier runs
stay, so `changes.csv` can say who changed, and why.

The secret of the hidden inputs is here and nowhere else. Work keeps the round that it first had,
and a round takes no new work once a run has ended with it.
"""

import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.classroom import hidden_inputs
from grader.classroom.judge import Exam, Outcome
from grader.intake.notebooks import find_code
from grader.intake.submission import Submission
from grader.report.problem import Problem
from grader.report.records import Graded, Report, Who, from_plain, report_from_json
from grader.steps.registry import load

NAME = "gradebook.db"
LOCK = ".gradebook.lock"
PAGES_LOCK = ".pages.lock"
PAGES_SECONDS = 60.0  # that a writer of pages waits for another one
VERSION = 4
_TABLES = """
create table if not exists run (
  number integer primary key, suite text not null, seed text not null, isolation text not null,
  steps text not null, kit text not null, finished integer not null default 0,
  assignment text not null default '{}', proof text not null default '');
create table if not exists secret (value blob not null);
create table if not exists result (
  key text primary key, report blob not null, seconds real not null);
create table if not exists sources (sha256 text primary key, files blob not null);
create table if not exists mark (
  run integer not null references run, student blob not null, sha256 text, key text,
  reason blob not null, warnings text not null, attempts integer not null,
  who text not null, round text, primary key (run, student));
create table if not exists note (name text primary key, value blob not null);
create index if not exists mark_of_student on mark (student, run);
create index if not exists mark_of_work on mark (sha256, run);
"""


def find_source(handed_in: Submission, step: str) -> str:
    """Return a step's source, followed by the student's own modules that it may import; or "".

    A copy may be in such a module.
    """
    source = handed_in.sources.get(step, "")
    code = {step: find_code(source, load().find(step))} if source else {}
    return replace(handed_in, sources=code).reachable(step) if source else ""


def key_of(exam: Exam, submission: Submission) -> str:
    """Return the key of this submission's result under this exam, for any student."""
    judged = exam.suite, exam.seed, exam.isolation, exam.steps, exam.kit, exam.full
    text = json.dumps([*judged, submission.sha256, sorted(submission.refused.items())])
    return hashlib.sha256(text.encode()).hexdigest()


def _unpack_files(student: str, data: bytes) -> Submission:
    packed = json.loads(zlib.decompress(data))
    files = {name: packed[one[0]] if isinstance(one, list) else one for name, one in packed.items()}
    own = {name.removesuffix(".py"): files[name] for name in files if name.endswith(".py")}
    steps = {name: files[name] for name in files if not name.endswith(".py")}
    return Submission(student, steps, modules=own)


def _bytes(text: str) -> bytes:
    """Return text without lone surrogates, which SQLite cannot store."""
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


ROOM = "what is graded is kept; make room, and run the same command again"
# By a word of SQLite's error. It says "disk I/O", too, if its map of memory does not fit.
ADVICE = {
    "disk I/O": f"the disk of {{}} is full or fails: {ROOM}",
    "full": f"there is no room left for {{}}: {ROOM}",
    "readonly": "{} cannot be written: {instead}",
    "unable to open": "{} cannot be written: {instead}",
    "locked": "{} is in use by another program: wait for it",
}


@contextlib.contextmanager
def _clearly(path: Path, instead: str = "choose another --out", **advice: str) -> Iterator[None]:
    """Turn SQLite's errors into advice. instead: what to do where it cannot be written."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        damage = "{} is damaged ({error}): move it away, and run the same command again"
        known = {**ADVICE, **advice}.items()
        told = next((one for sign, one in known if sign in str(error)), damage)
        raise Problem(told.format(path, instead=instead, error=error)) from None


class Gradebook(contextlib.ExitStack[None]):
    """An open gradebook. With `write`, the only one that adds runs; any may note what is drawn."""

    def __init__(self, folder: Path, *, write: bool = False) -> None:
        super().__init__()
        self.path, advice = folder / NAME, {}
        if write:
            busy = "another `grade` is at work in {}: wait for it, or stop it first"
            self.callback(_lock(folder, LOCK, 0.0, busy).close)
        elif not self.path.is_file():
            raise Problem(f"there is no gradebook in {folder}: grade into it first")
        else:  # SQLite writes beside the file
            advice = {"instead": "copy its folder to where you may write, and use the copy"}
        with _clearly(self.path, **advice):
            if write:
                # It holds a secret: for its owner alone, and an old one stays as it is. SQLite
                # gives the files beside it the same mode, and will say what is wrong.
                with contextlib.suppress(OSError):
                    os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(self.path, isolation_level=None, timeout=10)
            self.callback(self._db.close)
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = normal")
            found = self._db.execute("pragma user_version").fetchone()[0]
            if found not in (0, 3, VERSION):  # an empty file, and one without the table of notes
                raise Problem(f"{self.path} is of another version of the kit: move it away")
            if self._db.execute("pragma quick_check").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("it does not pass SQLite's own check")
            if write or found != VERSION:
                self._db.executescript(_TABLES)
                self._db.execute(f"pragma user_version = {VERSION}")

    # Writing.

    def secret(self) -> bytes | None:
        """Return the secret, or None before it is made. Raise Problem if it is damaged."""
        found = [row[0] for row in self._do("select value from secret")]
        proofs = {row[0] for row in self._do("select proof from run")} - {""}
        if not found and not proofs:
            return None
        right = [type(one) for one in found] == [bytes] and len(found[0]) == hidden_inputs.SIZE
        if not right or proofs - {hidden_inputs.prove(found[0])}:
            raise Problem(
                f"{self.path}: the secret of its hidden inputs is damaged, lost or another "
                "course's, so nothing can be graded: restore the file from a copy, or choose "
                "another --out"
            )
        return bytes(found[0])

    def make_secret(self) -> bytes:
        """Make the secret, and return it."""
        secret = hidden_inputs.new_secret()
        self._do("insert into secret values (?)", secret)
        return secret

    def next_round(self, first: int) -> int:
        """Return the name of the round for new work: the first number that names no ended one."""
        ended = self._do(
            "select distinct round from mark join run on run.number = mark.run "
            "where run.finished = 1 and run.suite = 'hidden' and round is not null"
        )
        return next(n for n in itertools.count(first) if (str(n),) not in ended)

    def round_of(self, sha256: str) -> int | None:
        """Return the round of work that was graded before with hidden checks."""
        row = self._one(
            "select round from mark join run on run.number = mark.run where sha256 = ? "
            "and run.suite = 'hidden' and round is not null order by run desc",
            sha256,
        )
        return int(row[0]) if row else None

    def begin(
        self, exam: Exam, assignment: Mapping[str, Any] | None = None, proof: str = ""
    ) -> int:
        """Return the number of a new run, which counts once it is finished.

        assignment: its rules, as data, for later use. proof: of the secret.
        """
        self._do(
            "insert into run (suite, seed, isolation, steps, kit, assignment, proof) "
            "values (?, ?, ?, ?, ?, ?, ?)",
            *(exam.suite, str(exam.seed), exam.isolation, " ".join(exam.steps), exam.kit),
            *(json.dumps(assignment or {}), proof),
        )
        return int(self._one("select max(number) from run")[0])

    def has(self, key: str) -> bool:
        """Return whether there is a result under that key."""
        return self._one("select 1 from result where key = ?", key) is not None

    def keep(self, submission: Submission) -> None:
        """Store a submission. Of equal files the first is stored, and its name for the others."""
        sha256, files = submission.sha256, submission.files
        if self._one("select 1 from sources where sha256 = ?", sha256) is None:
            first: dict[str, str] = {}
            names = {name: first.setdefault(text, name) for name, text in files.items()}
            packed = {name: files[name] if name == one else [one] for name, one in names.items()}
            data = zlib.compress(json.dumps(packed).encode())  # ASCII, also of lone surrogates
            self._do("insert or ignore into sources values (?, ?)", sha256, data)

    def record(self, key: str, outcome: Outcome) -> None:
        """Store a result, whole or not at all."""
        assert outcome.json is not None
        report = zlib.compress(outcome.json)
        self._do("insert or ignore into result values (?, ?, ?)", key, report, outcome.seconds)

    def mark(self, run: int, graded: Graded) -> None:
        """Note which result a student has in this run, or the reason why it is missing."""
        self._do(
            "insert or replace into mark values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(run, _bytes(graded.student), graded.sha256, graded.key),
            *(_bytes(graded.reason), json.dumps(graded.warnings), graded.attempts),
            json.dumps(dataclasses.asdict(graded.who)),
            None if graded.round is None else str(graded.round),
        )

    def note(self, name: str, value: Any) -> None:
        """Keep JSON data for later runs and pages, in place of what had that name."""
        data = zlib.compress(json.dumps(value).encode())
        self._do("insert or replace into note values (?, ?)", name, data)

    def finish(self, run: int) -> None:
        """End a run, in which everybody has a mark."""
        self._do("update run set finished = 1 where number = ?", run)

    # Reading.

    def last(self) -> int:
        """Return the number of the last run that was finished; 0 if there is none."""
        return int(self._one("select max(number) from run where finished = 1")[0] or 0)

    def graded(self, run: int | None = None, student: str | None = None) -> Iterator[Graded]:
        """Yield every student's result in a run, in the order of their names.

        student: only that one.
        """
        query = (
            "select mark.*, report, seconds from mark left join result on mark.key = result.key "
            "where run = ? and student = coalesce(?, student) order by student"
        )
        values = self._run(run), None if student is None else _bytes(student)
        with _clearly(self.path):
            for *about, report, seconds in self._db.execute(query, values):
                mark = _read_mark(about)
                if report:
                    found = report_from_json(zlib.decompress(report))
                    found = replace(found, submission=mark.student)
                    mark = replace(mark, report=found, seconds=seconds)
                yield mark

    def people(self, run: int | None = None) -> list[Graded]:
        """Return every student in a run, in the order of their names.

        They are without the report, which is slow to read.
        """
        query = "select * from mark where run = ? order by student"
        return [_read_mark(row) for row in self._do(query, self._run(run))]

    def assignment(self, run: int | None = None) -> dict[str, Any]:
        """Return the rules under which a run was graded, as data; {} if there were none."""
        row = self._one("select assignment from run where number = ?", self._run(run))
        return dict(json.loads(row[0]))

    def recall(self, name: str) -> Any:
        """Return the data that was kept under that name; None if there is none."""
        row = self._one("select value from note where name = ?", name)
        return row and json.loads(zlib.decompress(row[0]))

    def exam(self, run: int | None = None) -> Exam:
        """Return the exam of a run, by default of the last one."""
        row = self._one(
            "select suite, seed, isolation, steps, kit from run where number = ?", self._run(run)
        )
        return Exam(row[0], int(row[1]), row[2], tuple(row[3].split()), row[4])

    def handed_in(self, student: str, run: int | None = None) -> Submission:
        """Return what was read of a student's work; without files if nothing was."""
        row = self._one(
            "select files from mark join sources on mark.sha256 = sources.sha256 "
            "where run = ? and student = ?",
            *(self._run(run), _bytes(student)),
        )
        return _unpack_files(student, row[0]) if row else Submission(student, {})

    def sources_of(self, run: int, step: str) -> Iterator[tuple[str, str]]:
        """Yield the sources for a step with the own modules that they may import, by student."""
        with _clearly(self.path):
            rows = self._db.execute(
                "select student, files from mark join sources on mark.sha256 = sources.sha256 "
                "where run = ? order by student",
                [run],
            )
            for student, files in rows:
                handed_in = _unpack_files(_text(student), files)
                if source := find_source(handed_in, step):
                    yield handed_in.id, source

    def report(self, key: str | None) -> Report | None:
        """Return the report under that key, if there is one."""
        row = self._one("select report from result where key = ?", key)
        return report_from_json(zlib.decompress(row[0])) if row else None

    def _run(self, run: int | None) -> int:
        if not (number := self.last() if run is None else run):
            raise Problem(f"nothing in {self.path} is graded to the end: grade again")
        return number

    def _do(self, statement: str, *values: Any) -> list[Any]:
        with _clearly(self.path):
            return self._db.execute(statement, values).fetchall()

    def _one(self, query: str, *values: Any) -> Any:
        return next(iter(self._do(query, *values)), None)


def _read_mark(row: Sequence[Any]) -> Graded:
    """Return the student in a row of the table of marks, which begins with the run."""
    _, student, sha256, key, reason, warnings, attempts, who, round = row
    return Graded(
        *(_text(student), None, _text(reason), tuple(json.loads(warnings)), attempts),
        who=from_plain(Who, json.loads(who)),
        sha256=sha256,
        key=key,
        round=None if round is None else int(round),
    )


def _lock(folder: Path, name: str, seconds: float, busy: str) -> sqlite3.Connection:
    """Lock a folder until the lock is closed or this process ends."""
    with _clearly(folder, locked=busy):
        lock = sqlite3.connect(folder / name, isolation_level=None, timeout=seconds)
        lock.execute("begin exclusive")
    return lock


@contextlib.contextmanager
def lock_pages(folder: Path) -> Iterator[None]:
    """Let nobody else change grades by hand or write the pages of this class meanwhile.

    Two graders may each run `serve`, and a class may be graded at the same time.
    """
    busy = "somebody else is writing the pages in {}: try again in a moment"
    with contextlib.closing(_lock(folder, PAGES_LOCK, PAGES_SECONDS, busy)):
        yield
