"""Run a judge in a process of its own, which grades one submission after another.

Several judges grade a class, and a lost one must not take the others with it. The process gets its
exam, then submissions, and answers each with a report. All messages are JSON, after a letter for
their kind. A report stays unparsed until somebody reads it. Only data is sent, and no student code
runs here.
"""

import contextlib
import dataclasses
import functools
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from grader.engine.kit_digest import kit_digest
from grader.engine.own_memory import is_spent, limit_memory
from grader.intake.submission import Submission
from grader.isolation import Host, Isolation, Process, SandboxError, probe, start_host
from grader.isolation.hosts import remove
from grader.report.problem import Problem
from grader.report.records import Report, from_plain, report_from_json
from grader.steps.paths import ROOT
from grader.steps.registry import KitError, Limits, load

REPORT, MESSAGE = b"r", b"m"
START_SECONDS = 120.0
TURNS = 100  # submissions that a sandbox serves
GRACE = 2.0  # times the limit of a submission, after which its judge itself must hang
LOST = 2  # judges, after which a submission is not gradable
PROGRAM = "from grader.classroom.judge import main; main()"
PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>: the signal that a process gets when its parent dies


@dataclass(frozen=True)
class Exam:
    """How a submission is judged. Its report depends only on this and on its sources.

    seed: the name of the round. key: what the hidden inputs of the round follow from. full: show
    hidden failures as visible ones.
    """

    suite: str
    seed: int
    isolation: str
    steps: tuple[str, ...]
    kit: str
    key: str = field(default="", repr=False)
    full: bool = False


@dataclass(frozen=True)
class Outcome:
    """A report as JSON, or the reason why there is none; seconds is how long it took."""

    json: bytes | None
    reason: str
    seconds: float

    @property
    def report(self) -> Report | None:
        """Return the report, parsed anew each time."""
        return None if self.json is None else report_from_json(self.json)


class JudgeLost(Exception):
    """The process ended, or did not answer in time.

    Without a text, it only holds too much of earlier submissions to judge another one.
    """


class JudgeRefuses(Problem):
    """The process cannot judge at all in this place; the text says why."""


# The process.


def _send(channel: Connection, data: Any) -> None:
    """Send a message, or a report."""
    if isinstance(data, Report):
        channel.send_bytes(REPORT + data.to_json().encode())
    else:
        channel.send_bytes(MESSAGE + json.dumps(data, allow_nan=False).encode())


def _receive(channel: Connection) -> Any:
    """Return the next message, or a report as unparsed JSON."""
    data = channel.recv_bytes()
    return data[1:] if data[:1] == REPORT else json.loads(data[1:])


def main() -> None:
    """Serve until the channel, whose number is the only argument, is closed."""
    if sys.platform.startswith("linux"):  # which kills this process when its parent dies
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    os.set_inheritable(int(sys.argv[1]), False)
    channel = Connection(int(sys.argv[1]))
    with contextlib.suppress(EOFError, ConnectionError):  # it is closed, or its owner died
        data = _receive(channel)
        _serve(from_plain(Exam, data["exam"]), data["held"], channel)


def _serve(exam: Exam, held: Mapping[str, bool] | None, channel: Connection) -> None:
    from grader.engine import grading  # slow to import, and only needed here

    registry = load()
    steps = [registry.find(name) for name in exam.steps]
    try:
        if exam.kit != kit_digest():
            raise KitError("the kit here is not the one that grades: install the same everywhere")
        if exam.suite == "hidden" and not exam.key:
            raise KitError("hidden inputs come from a secret, and this exam has no key of it")
        isolation = probe.isolation_for_grading(exam.isolation, registry.limits, held)
        with Sandboxes(isolation, registry.limits) as sandboxes:

            @functools.cache
            def grader_of(seed: int, key: str) -> grading.Grader:
                return grading.make_grader(
                    *(registry, sandboxes.trusted, exam.suite, seed, steps), key=key, full=exam.full
                )

            grader_of(exam.seed, exam.key)
            gc.freeze()  # torch and the checks stay, so the collector need not scan them again
            first, judged = limit_memory(), False
            _send(channel, {"held": dict(isolation.held)})
            while True:
                data = _receive(channel)
                submission, grader = Submission(**data["work"]), grader_of(*data["round"])
                with sandboxes.next() as host:
                    grader.bench.begin_anew(host)
                    if judged and is_spent(first):  # this submission needs what others have left
                        _send(channel, {"refused": ""})
                        return
                    _send(channel, grader.grade(submission, steps))
                    judged = True
    except (KitError, SandboxError) as error:
        _send(channel, {"refused": str(error)})


class Sandboxes(contextlib.AbstractContextManager["Sandboxes"]):
    """The place where submissions run, one at a time, and where the kit's own code does.

    The probe tests that a worker leaves nothing for the next one. So one sandbox serves many
    submissions, up to a limit. It is replaced after a worker has ended or hung in it. An isolation
    without promises serves a single submission.
    """

    def __init__(self, isolation: Isolation, limits: Limits) -> None:
        self.new = functools.partial(start_host, isolation, limits)
        self.turns = TURNS if isolation.held else 1
        self.served = 0
        self.trusted = start_host(Process(), limits)
        self.host, self.spare = self.new(), self.new()

    def __exit__(self, *error: object) -> None:
        for host in (self.host, self.spare, self.trusted):
            host.close()

    @contextlib.contextmanager
    def next(self) -> Iterator[Host]:
        """Yield the sandbox for the next submission, whose time begins now, here and there."""
        until = time.monotonic() + self.host.limits.submission_seconds
        self.host.deadline = self.trusted.deadline = until
        yield self.host
        self.served += 1
        if self.host.upset or self.served >= self.turns:
            self.host.close()
            self.host, self.spare = self.spare, self.new()  # it starts while that one is in use
            self.served = 0


# Its owner.

# What was found here by probing an isolation, for the judges that are started later.
_held: dict[str, Mapping[str, bool]] = {}


def probe_isolation(name: str) -> str:
    """Probe an isolation here for all judges of this process, and return its name."""
    found = probe.isolation_for_grading(name, load().limits, _held.get(name))
    _held[name] = _held[found.name] = dict(found.held)
    return found.name


class ClassJudge:
    """The judge's process, seen from the process that hands out the work."""

    def __init__(self) -> None:
        self.seconds = GRACE * load().limits.submission_seconds
        self.busy = threading.Lock()
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.folder = Path(tempfile.mkdtemp(prefix="nopeek-"))  # all of its own, to be removed here
        self.channel, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(theirs.fileno())],
                cwd=ROOT,
                env={**os.environ, "TMPDIR": str(self.folder)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self.errors,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the process that started it
            )

    def begin(self, exam: Exam) -> None:
        """Give it its exam. Raise JudgeRefuses, with the reason, if it cannot judge."""
        try:
            begin = {"exam": dataclasses.asdict(exam), "held": _held.get(exam.isolation)}
            answer = self._ask(begin, START_SECONDS)
        except JudgeLost as lost:
            raise JudgeRefuses(f"the judge does not start: {lost}") from None
        if "refused" in answer:
            raise JudgeRefuses(answer["refused"])
        _held[exam.isolation] = answer["held"]

    def grade(self, exam: Exam, submission: Submission) -> Outcome:
        """Return the report on a submission in that round. Raise JudgeLost if none arrives."""
        start, round = time.monotonic(), (exam.seed, exam.key)
        answer = self._ask({"round": round, "work": dataclasses.asdict(submission)}, self.seconds)
        if isinstance(answer, bytes):
            return Outcome(answer, "", time.monotonic() - start)
        raise JudgeLost(answer["refused"])

    def close(self) -> None:
        """End the process and its sandboxes."""
        self.channel.close()
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()
        remove(self.folder)

    def _ask(self, data: Any, seconds: float) -> Any:
        """Send a message, and return its answer."""
        try:
            _send(self.channel, data)
            if self.channel.poll(seconds):
                return _receive(self.channel)
        except (OSError, EOFError) as error:
            self.errors.seek(0)
            said = self.errors.read()[-2000:].decode(errors="replace").strip().splitlines()
            raise JudgeLost(": ".join(["it ended", *said[-1:]])) from error
        self.process.kill()
        raise JudgeLost("it did not answer in time")


# By thread, because a judge ends with the thread that has started it, and by exam of any round.
_judges: dict[tuple[int, Exam], ClassJudge] = {}
_stopped = threading.Event()
_lock = threading.Lock()


def start(exam: Exam) -> ClassJudge:
    """Return this thread's judge for such an exam. It serves every round.

    Raise JudgeRefuses, with the reason, if none can judge here.
    """
    key = threading.get_ident(), replace(exam, seed=0, key="")
    judge = _judges.get(key)
    if judge is None or judge.process.poll() is not None:
        _close(key)
        with _lock:
            if _stopped.is_set():  # before another one is started in vain
                raise JudgeRefuses("grading was stopped")
            judge = _judges[key] = ClassJudge()
        try:
            with judge.busy:
                judge.begin(exam)
        except JudgeRefuses:
            _close(key)
            raise
    return judge


def grade_submission(exam: Exam, submission: Submission) -> Outcome:
    """Return a judge's result for a submission. Replace a lost judge once, and a spent one.

    Each thread keeps its judges for the next submission.
    """
    reasons: list[str] = []
    while len(reasons) < LOST:
        judge = start(exam)
        try:
            with judge.busy:
                return judge.grade(exam, submission)
        except JudgeLost as lost:
            judge.process.kill()
            judge.process.wait()
            reasons += filter(None, [str(lost)])
    return Outcome(None, f"The judge was lost twice while it was judged: {reasons[-1]}.", 0.0)


def stop() -> None:
    """End all judges of this process, even busy ones, and allow no new ones."""
    with _lock:
        _stopped.set()
        for judge in [*_judges.values()]:
            judge.process.kill()
    dismiss()


def dismiss() -> None:
    """End the judges of this process."""
    for key in [*_judges]:
        _close(key)


def _close(key: tuple[int, Exam]) -> None:
    """End a judge once it is idle, if there is one."""
    if judge := _judges.pop(key, None):
        with judge.busy:
            judge.close()
